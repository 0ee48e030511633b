##@ Benchmark

SUITES += programs

$(BENCH_DIR)/programs-run: bench/programs.c bench/run.c bench/stats.c bench/machine.c bench/peers.c bench/typed.c $(BENCH_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@ -lm

# Of glibc's malloc, to which it passes all calls on.
$(BENCH_DIR)/libcalls.so: bench/calls.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -shared $< -o $@

PROGRAMS_PARTS = $(BENCH_DIR)/programs-run $(BENCH_DIR)/libcalls.so $(BENCH_DIR)/bench $(BENCHED_STAGES:%=$(B)/lib%.so)
BENCHED_STAGES = $(filter $(STAGES),$(BENCHED))
PROGRAMS_CSV = $(or $(csv),$(BENCH_DIR)/programs.csv)
PROGRAMS_JSON = $(or $(json),$(BENCH_DIR)/programs.json)

.PHONY: bench-programs
bench-programs: $(PROGRAMS_PARTS) ## real programs over each allocator: time, memory, the same output [peers=all] [only="jq perl"] [rounds=6]
	@status=0; $(BENCH_DIR)/programs-run --build=$(abspath $(B)) --csv='$(PROGRAMS_CSV)' --json='$(PROGRAMS_JSON)' $(if $(rounds),--rounds='$(rounds)') \
	    $(if $(peers),--peers='$(peers)') $(if $(only),--only='$(only)') $(if $(limit),--limit='$(limit)') \
	    $(BENCHED_STAGES) || status=$$?; \
	[ $$status = 2 ] || $(BENCH_DIR)/bench --title=programs --rows='$(PROGRAMS_CSV)' $(BENCH_BUILT) \
	    --json='$(PROGRAMS_JSON)' $$([ $$status -le 128 ] || echo --interrupted) > /dev/null || exit; \
	exit $$status

# Each program once over each stage, on small inputs: the same output? test-preload has python3 already.
.PHONY: check-programs
check-programs: $(PROGRAMS_PARTS)
	@$(BENCH_DIR)/programs-run --build=$(abspath $(B)) --dry-run --only='sqlite3 lua perl jq gawk cc1 redis' --csv=$(BENCH_DIR)/programs-dry.csv $(STAGES) > $(BENCH_DIR)/programs-dry || \
	    { cat $(BENCH_DIR)/programs-dry; exit 1; }
	@awk -F, 'NR > 1 { n++ } END { print n " runs of real programs: the same output as over the system'"'"'s malloc" }' $(BENCH_DIR)/programs-dry.csv
CHECKS += check-programs

.PHONY: setup-programs
setup-programs: ## install the programs of suite=programs
	@tests/setup.sh sqlite3 python3 lua5.4 perl jq gawk gcc redis-server redis-tools

.PHONY: run
run: all ## stage=N cmd='…': run any command over a stage
	@$(need_stage)$(if $(cmd),,$(error $@ needs a command: make $@ stage=N cmd='ls -l'))
	@sh bench/run.sh $(abspath $(B)/lib$(firstword $(SELECTED)).so)
run: override export cmd := $(value cmd)
