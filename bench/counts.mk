##@ Counted work

# Counted work is the same on every machine, so a check can rest on it. Which stages: as in make bench.
# check-counts has files of its own: it must not touch what was measured on purpose.
COUNTS_DIR := $(or $(counts_dir),$(BENCH_DIR))
COUNTED := $(filter $(STAGES),$(BENCHED))
# Instructions are the compiler's as much as the stage's: compared only where all of this is as recorded.
BUILT_BY = $(shell $(CC) --version | head -n 1), $(filter-out -std=% -W% -I% -fno-builtin%,$(ALL_CFLAGS)), $(shell uname -m), $(shell getconf GNU_LIBC_VERSION 2>/dev/null)

$(B)/count/%/counts: bench/counts.c $(B)/count/%/mm.o $(COUNT_COMMON) bench/workloads.c bench/workloads.h $(HEADERS)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Ibench $(filter %.c %.o,$^) -o $@

COUNTED_FOR_INSTRUCTIONS = $(COUNTED) $(filter system bump freelist,$(BENCHED)) harness
INSTRUCTIONS_PARTS = $(BENCH_PARTS) $(COUNTED:%=$(B)/lib%.so)

$(COUNTS_DIR)/counts.csv: $(COUNTED:%=$(B)/count/%/counts) FORCE
	@mkdir -p $(@D)
	@sh bench/counts.sh $(B) counts $@ $(COUNTED)

$(COUNTS_DIR)/instructions.csv: $(INSTRUCTIONS_PARTS) FORCE
	@mkdir -p $(@D)
	@BUILT_BY='$(BUILT_BY)' sh bench/counts.sh $(B) instructions $@ $(COUNTED_FOR_INSTRUCTIONS)

.PHONY: FORCE
FORCE:

SUITES += counts instructions
.PHONY: bench-counts
bench-counts: $(BENCH_DIR)/bench $(COUNTED:%=$(B)/count/%/counts) ## blocks visited, splits, merges, growths, bytes copied, per call
	@TABLES=1 $(SUITE_ENV) sh bench/counts.sh $(B) counts '$(or $(csv),$(BENCH_DIR)/counts.csv)' $(COUNTED)

.PHONY: bench-instructions
bench-instructions: $(INSTRUCTIONS_PARTS) | needs-valgrind ## instructions per call, under valgrind
	@TABLES=1 BUILT_BY='$(BUILT_BY)' $(SUITE_ENV) \
	    sh bench/counts.sh $(B) instructions '$(or $(csv),$(BENCH_DIR)/instructions.csv)' $(COUNTED_FOR_INSTRUCTIONS)

CHECKED_DIR := $(BENCH_DIR)/checked

.PHONY: check-counts
check-counts: ## counted work against bench/recorded: fails on a change for the worse of more than 2 %
	@$(MAKE) --no-print-directory -s stages='$(REFERENCE)' stage= counts_dir=$(CHECKED_DIR) $(CHECKED_DIR)/counts.csv
	@printf 'counted work: '; awk -f bench/recorded.awk bench/recorded/counts.csv $(CHECKED_DIR)/counts.csv
	@if ! command -v valgrind > /dev/null; then \
	    echo "instructions: skipped, no valgrind; make setup brings it"; \
	elif [ '# $(BUILT_BY)' != "$$(head -n 1 bench/recorded/instructions.csv)" ]; then \
	    echo "instructions: not compared, since they were recorded with another compiler:"; \
	    printf '  recorded %s\n  here     %s\n' "$$(head -n 1 bench/recorded/instructions.csv)" '# $(BUILT_BY)'; \
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
