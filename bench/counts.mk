##@ Counted work

# Counted work is the same on every machine, so a check can rest on it. Which stages: as in make bench.
# check-counts has files of its own: it must not touch what was measured on purpose.
COUNTS_DIR := $(or $(counts_dir),$(BENCH_DIR))
COUNTED := $(filter $(STAGES),$(BENCHED))
# Instructions are the compiler's as much as the stage's: compared only where all of this is as recorded.
BUILT_BY = \# $(shell $(CC) --version | head -n 1), $(filter-out -std=% -W% -I% -fno-builtin%,$(ALL_CFLAGS)), $(shell uname -m), $(shell getconf GNU_LIBC_VERSION 2>/dev/null)

$(B)/count/%/counts: bench/counts.c $(B)/count/%/mm.o $(COUNT_COMMON) bench/workloads.c bench/workloads.h $(HEADERS)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Ibench $(filter %.c %.o,$^) -o $@

$(COUNTS_DIR)/counts.csv: $(COUNTED:%=$(B)/count/%/counts) FORCE
	@mkdir -p $(@D)
	@for s in $(COUNTED); do $(B)/count/$$s/counts $$s || exit 1; done > $@

$(COUNTS_DIR)/instructions.csv: $(BENCH_PARTS) $(COUNTED:%=$(B)/lib%.so) FORCE
	@mkdir -p $(@D)
	@echo '$(BUILT_BY)' > $@.new
	@sh bench/instructions.sh $(B) $(COUNTED) $(filter $(INSTRUCTIONS_OTHERS),$(BENCHED)) harness >> $@.new
	@mv $@.new $@
INSTRUCTIONS_OTHERS := system bump freelist

.PHONY: FORCE
FORCE:

SUITES += counts instructions
.PHONY: bench-counts
bench-counts: $(COUNTS_DIR)/counts.csv ## blocks visited, splits, merges, growths, bytes copied, per call
	@awk -f bench/per_call.awk $<
	@echo; echo "raw counts: $<"

.PHONY: bench-instructions
bench-instructions: $(COUNTS_DIR)/instructions.csv ## instructions per call, under valgrind
	@awk -f bench/per_call.awk $<
	@echo "- is left out: too many instructions for the short wait that valgrind's slowness makes long."
	@echo; echo "raw counts: $<"

CHECKED_DIR := $(BENCH_DIR)/checked

.PHONY: check-counts
check-counts: ## counted work against bench/recorded: fails on a change for the worse of more than 2 %
	@$(MAKE) --no-print-directory -s stages='$(REFERENCE)' stage= counts_dir=$(CHECKED_DIR) $(CHECKED_DIR)/counts.csv
	@printf 'counted work: '; awk -f bench/recorded.awk bench/recorded/counts.csv $(CHECKED_DIR)/counts.csv
	@if ! command -v valgrind > /dev/null; then \
	    echo "instructions: skipped, no valgrind; make setup brings it"; \
	elif [ '$(BUILT_BY)' != "$$(head -n 1 bench/recorded/instructions.csv)" ]; then \
	    echo "instructions: not compared, since they were recorded with another compiler:"; \
	    printf '  recorded %s\n  here     %s\n' "$$(head -n 1 bench/recorded/instructions.csv)" '$(BUILT_BY)'; \
	else \
	    $(MAKE) --no-print-directory -s stages='$(REFERENCE)' stage= counts_dir=$(CHECKED_DIR) $(CHECKED_DIR)/instructions.csv && \
	    printf 'instructions: ' && awk -f bench/recorded.awk bench/recorded/instructions.csv $(CHECKED_DIR)/instructions.csv; \
	fi
CHECKS += check-counts

.PHONY: record-counts
record-counts: ## rewrite bench/recorded: what check-counts compares with
	@$(MAKE) --no-print-directory -s stages='$(REFERENCE)' stage= counts_dir=$(CHECKED_DIR) $(CHECKED_DIR)/counts.csv $(CHECKED_DIR)/instructions.csv
	@cp $(CHECKED_DIR)/counts.csv $(CHECKED_DIR)/instructions.csv bench/recorded/
	@git --no-pager diff --stat -- bench/recorded
