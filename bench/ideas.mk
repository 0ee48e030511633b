##@ Benchmark

# Each idea with and without validation; stage 3 is stage 2 without. In directories of their own, since the
# flags differ; then all under one roof, named as what they are.
IDEAS := 1-implicit-list:implicit 2-explicit-list:explicit 4-size-classes:classes 5-boundary-tags:tags
IDEA_NAMES := $(foreach i,$(IDEAS),$(lastword $(subst :, ,$(i))))
ABLATION := $(B)/ablation
SEVEN := seq,random,fill,large,frag,realloc,mixed

.PHONY: ablation-parts
ablation-parts: $(BENCH_PARTS)
	@mkdir -p $(ABLATION)
	@ln -sfn $(abspath $(BENCH_DIR)) $(ABLATION)/bench
	@for v in 0 1; do \
	    d=$(ABLATION)/validate$$v; \
	    $(MAKE) --no-print-directory -s B=$$d validate=$$v stage= all $(foreach i,$(IDEAS),$$d/count/$(firstword $(subst :, ,$(i)))/counts) || exit 1; \
	    for i in $(IDEAS); do \
	        name=$${i#*:}; [ $$v = 0 ] || name=$$name+check; \
	        ln -sf $$(realpath $$d/lib$${i%:*}.so) $(ABLATION)/lib$$name.so; \
	        $$d/count/$${i%:*}/counts $$name || exit 1; \
	    done; \
	done > $(BENCH_DIR)/ablation-counts.csv

# Times of a dry run must not pass for results.
ABLATION_CSV := $(BENCH_DIR)/$(if $(dry),dry-)ablation.csv

SUITES += ablation predictions
.PHONY: bench-ablation
bench-ablation: ablation-parts ## each idea with and without validation, in counted work and time: [seconds=75]
	@$(SUITE_ENV) sh bench/ablation.sh $(B) '$(or $(csv),$(ABLATION_CSV))' '$(IDEA_NAMES)' --only='$(or $(only),$(SEVEN))' \
	    $(if $(seconds),--seconds='$(seconds)') $(if $(rounds),--rounds='$(rounds)') $(if $(dry),--dry-run)

# Of the last `make bench`; without one it is run.
$(BENCH_DIR)/results.csv:
	@$(MAKE) --no-print-directory bench suite= only=

.PHONY: bench-predictions
bench-predictions: $(BENCH_DIR)/results.csv $(BENCH_DIR)/bench $(REFERENCE:%=$(B)/count/%/counts) ## what was predicted of each phase, beside what the last make bench measured
	@for s in $(REFERENCE); do echo "$$s,$$($(B)/count/$$s/counts $$s header)"; done > $(BENCH_DIR)/headers.csv
	@awk -v csv=$(BENCH_DIR)/predictions.csv -f bench/predictions.awk $(BENCH_DIR)/headers.csv $< > $(BENCH_DIR)/predictions.txt
	@$(BENCH_DIR)/bench $(BENCH_BUILT) --title=predictions --rows=$(BENCH_DIR)/predictions.csv \
	    --json='$(or $(json),$(BENCH_DIR)/predictions.json)'
	@cat $(BENCH_DIR)/predictions.txt
	@echo; echo "measured: $<, of $$(date -r $< '+%Y-%m-%d %H:%M'); make bench measures anew"
