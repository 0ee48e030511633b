##@ Course

# stage=my2, for the commands that work on a stage of one's own.
need_own = $(if $(filter my%,$(stage)),,$(error $@ works on a stage of your own: make $@ stage=my2; make start stage=2 begins it))

.PHONY: start
start: ## stage=2 [from=my1]: begin a stage of your own, stages/my2
	@$(need_stage)stages/course.sh start $(firstword $(subst -, ,$(patsubst my%,%,$(stage)))) $(from)

.PHONY: hint
hint: ## stage=my2: one hint, the next at each call
	@$(need_own)stages/course.sh hint $(stage)

.PHONY: predict
predict: ## stage=2 [seq=5 mean=2]: say how many times faster it will be, before you measure
	@$(need_stage)stages/course.sh predict $(NUMBER) $(seq) $(mean)

.PHONY: progress
progress: ## where you stand: goals, predictions against measurements, the next step
	@stages/course.sh progress $(B)/bench/results.csv

.PHONY: watch
watch: ## stage=my2: test it each time that you save
	@$(need_own)stages/course.sh watch $(stage)
