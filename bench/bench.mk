##@ Benchmark

# What is compared: stages=, or the stage of stage=N with the stage before it (and its reference), or everything.
BENCH_DIR := $(B)/bench
BENCH_OTHERS := system bump freelist harness

bench_full = $(or $(filter $(1),$(BENCH_OTHERS)),$(strip $(foreach s,$(STAGES),$(if $(filter $(1),$(s) \
    $(call short,$(s))),$(s)))),$(error stages=$(1) does not exist; pick from: $(SHORT) $(BENCH_OTHERS)))

ifdef stages
BENCHED := $(foreach s,$(subst $(comma), ,$(stages)),$(call bench_full,$(s)))
else ifdef stage
# For a student's own stage: the finished one of the same number beside it.
BENCH_REFERENCE := $(if $(filter my%,$(SELECTED)),$(filter $(NUMBER)-%,$(REFERENCE)))
BENCHED := $(before) $(SELECTED) $(BENCH_REFERENCE) system
BENCH_FOCUS := --focus=$(SELECTED) $(before:%=--before=%) $(BENCH_REFERENCE:%=--reference=%)
else
BENCHED := $(STAGES) $(BENCH_OTHERS)
endif

# For the header of a report.
BENCH_COMMIT = $(shell git describe --always --dirty 2>/dev/null)
BENCH_FLAGS = $(filter-out -std=% -W% -I% -fno-builtin%,$(ALL_CFLAGS))
BENCH_BUILT = --commit='$(BENCH_COMMIT)' --flags='$(BENCH_FLAGS)'
# The same for suites written in shell.
SUITE_ENV = COMMIT='$(BENCH_COMMIT)' FLAGS='$(BENCH_FLAGS)' JSON='$(json)'

BENCH_C := bench/bench.c bench/report.c bench/export.c bench/csv.c bench/compare.c bench/run.c bench/stats.c \
    bench/workloads.c bench/peers.c bench/typed.c bench/machine.c
BENCH_H := $(wildcard bench/*.h)
BENCH_CELLS := $(BENCH_DIR)/cell $(if $(shell command -v musl-gcc),$(BENCH_DIR)/cell-musl)
BENCH_PARTS := $(BENCH_DIR)/bench $(BENCH_CELLS) $(BENCH_DIR)/libbump.so $(BENCH_DIR)/libfreelist.so

$(BENCH_DIR)/bench: $(BENCH_C) $(BENCH_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(BENCH_C) -o $@ -lm

$(BENCH_DIR)/cell: bench/cell.c bench/workloads.c $(BENCH_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) bench/cell.c bench/workloads.c -o $@ -ldl

$(BENCH_DIR)/cell-musl: bench/cell.c bench/workloads.c $(BENCH_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	musl-gcc -std=c11 -O2 $(NO_BUILTIN) bench/cell.c bench/workloads.c -o $@

$(BENCH_DIR)/lib%.so: bench/%.c $(BENCH_H) $(HEADERS) $(COMMON_C) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -shared -fvisibility=hidden $< common/memory.c -o $@

.PHONY: bench
ifdef suite
bench: bench-$(suite)
bench-%:
	@echo "suite=$* does not exist; pick one of: $(SUITES), or none for the seven workloads"; exit 2
else
bench: $(BENCH_PARTS) $(patsubst %,$(B)/lib%.so,$(filter $(STAGES),$(BENCHED))) ## compare with the system's malloc: [peers="all NAME=PATH.so"] [stages="1 my2 system"] [only=seq] [rounds=9] [json=F] [csv=F] [dry=1]
	@$(BENCH_DIR)/bench --build=$(B) $(BENCH_BUILT) $(BENCH_FOCUS) \
	    --csv='$(or $(csv),$(BENCH_DIR)/$(if $(dry),dry-)results.csv)' --json='$(or $(json),$(BENCH_DIR)/$(if $(dry),dry-)results.json)' \
	    $(if $(only),--only='$(only)') $(if $(rounds),--rounds='$(rounds)') $(if $(peers),--peers='$(peers)') \
	    $(if $(seconds),--seconds='$(seconds)') $(if $(limit),--limit='$(limit)') $(if $(dry),--dry-run) $(BENCHED)
endif

# The suite is that of the old file; without new= it is run now, into the file that this suite writes.
.PHONY: bench-compare
bench-compare: $(BENCH_DIR)/bench ## old=FILE.csv [new=FILE.csv]: what changed since an earlier run, of any suite
	@test -r '$(old)' || { echo 'bench-compare needs an earlier result: make bench csv=before.csv, and later' \
	    'make bench-compare old=before.csv' >&2; exit 2; }
	@cp '$(old)' $(BENCH_DIR)/old.csv
	@suite=$$($< --suite-of=$(BENCH_DIR)/old.csv) || exit 2; \
	new=$(BENCH_DIR)/$$suite.csv; \
	[ $$suite != workloads ] || { suite=; new=$(BENCH_DIR)/results.csv; }; \
	$(if $(new),,$(MAKE) --no-print-directory bench suite=$$suite &&) \
	$< --old=$(BENCH_DIR)/old.csv --new=$(or $(new),$(csv),$$new)

$(B)/tests/stats: $(B)/tests/stats.o bench/stats.c bench/stats.h
	$(CC) $(ALL_CFLAGS) $(filter %.o %.c,$^) -o $@ $(CRITERION) -lm

.PHONY: test-bench
test-bench: $(BENCH_PARTS) $(B)/tests/stats ## the benchmark: its statistics, and what it says of broken allocators
	@$(B)/tests/stats -j1
	@sh bench/bench_test.sh $(B) $(CC)

ifndef stage
test: test-bench
endif

# Each cell once.
.PHONY: check-bench
check-bench:
	@mkdir -p $(BENCH_DIR)
	@$(MAKE) --no-print-directory bench dry=1 > $(BENCH_DIR)/dry || { cat $(BENCH_DIR)/dry; exit 1; }
CHECKS += check-bench

.PHONY: setup-peers
setup-peers: ## install the mallocs that peers=all compares with, and Boost for the classics
	@tests/setup.sh libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 libtbbmalloc2 musl-tools g++ libboost-dev
