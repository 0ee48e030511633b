##@ Traces

# The recorder is the one library here that must not be a stage: it goes between a program and libc.
$(B)/record/librecord.so: bench/record.c bench/record.h common/bits.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -shared -fvisibility=hidden $< -o $@ -pthread

$(B)/record/record_text: bench/record_text.c bench/record.h common/trace.c common/trace.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@

$(B)/record/record_program: bench/record_program.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -pthread

# The recorder goes straight to glibc; elsewhere its test is left out, visibly.
HAVE_GLIBC := $(shell $(CC) -E -dM -include features.h -x c /dev/null 2> /dev/null | grep -m1 -ow __GLIBC__)

RECORDER := $(B)/record/librecord.so $(B)/record/record_text

.PHONY: record
record: $(RECORDER) ## cmd='…' out=FILE.trace.gz: record a program's calls of malloc (program=NAME, all=1)
	@$(if $(HAVE_GLIBC),,$(error record needs glibc: type it on Linux))
	@$(if $(and $(cmd),$(out)),,$(error type what to record and where: make record cmd='ls /' out=ls.trace.gz))
	@sh bench/record.sh $(RECORDER) '$(out)'
# Unexpanded: a $ in it is the shell's.
record: override export cmd := $(value cmd)
record: export program := $(program)
record: export all := $(all)

.PHONY: test-record
test-record: $(RECORDER) $(B)/record/record_program $(B)/lib5-boundary-tags.so ## the recorder
	@sh bench/record_test.sh $(RECORDER) $(B)/record/record_program $(B)/lib5-boundary-tags.so

# ---- Traces on every allocator ----

# Recorded ones are stored; those made to be hard are generated. traces=DIR takes another directory's instead.
TRACE_NAMES := first-fit splinters class-borders growing robson
GENERATED_TRACES := $(TRACE_NAMES:%=$(B)/traces/%.trace)
TRACE_KINDS := trace rep script
TRACE_BENCH_FILES := $(if $(traces), \
    $(sort $(foreach k,$(TRACE_KINDS),$(wildcard $(traces)/*.$(k) $(traces)/*.$(k).gz))), \
    $(wildcard bench/traces/*.trace.gz) $(GENERATED_TRACES))
TRACE_BENCH_C := bench/trace_bench.c bench/run.c bench/report.c bench/export.c bench/csv.c bench/stats.c \
    bench/workloads.c bench/peers.c bench/typed.c bench/machine.c common/trace.c

$(B)/traces/tracegen: bench/tracegen.c common/trace.c common/trace.h common/bits.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@

$(B)/traces/%.trace: $(B)/traces/tracegen
	$< $* > $@

$(BENCH_DIR)/trace_bench: $(TRACE_BENCH_C) $(BENCH_H) $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(TRACE_BENCH_C) -o $@ -lm

$(BENCH_DIR)/trace_cell: bench/trace_cell.c bench/trace_cell.h common/trace.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -ldl

$(BENCH_DIR)/trace_cell-musl: bench/trace_cell.c bench/trace_cell.h common/trace.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	musl-gcc -std=c11 -O2 $(NO_BUILTIN) -Icommon $< -o $@

TRACE_BENCH_PARTS := $(BENCH_DIR)/trace_bench $(BENCH_DIR)/trace_cell \
    $(if $(shell command -v musl-gcc),$(BENCH_DIR)/trace_cell-musl) $(if $(traces),,$(GENERATED_TRACES))
TRACED := $(filter-out bump freelist,$(BENCHED))

# Given with `make test`, but not for one stage: they are of the tools.
ifndef stage
test: $(if $(HAVE_GLIBC),test-record,skip-record) test-traces check-traces
endif

.PHONY: skip-record
skip-record:
	@echo "skipped: the recorder's test, which needs glibc"

SUITES += traces
.PHONY: bench-traces
TRACED_STAGES := $(patsubst %,$(B)/lib%.so,$(filter $(STAGES),$(TRACED)))
bench-traces: $(TRACE_BENCH_PARTS) $(TRACED_STAGES) ## real programs: speed, space, scores ([traces=DIR])
	@$(BENCH_DIR)/trace_bench --build=$(B) \
	    --commit='$(shell git describe --always --dirty 2>/dev/null)' \
	    --flags='$(filter-out -std=% -W% -I% -fno-builtin%,$(ALL_CFLAGS))' \
	    --csv='$(or $(csv),$(BENCH_DIR)/traces.csv)' --json='$(or $(json),$(BENCH_DIR)/traces.json)' \
	    $(if $(only),--only='$(only)') $(if $(rounds),--rounds='$(rounds)') $(if $(peers),--peers='$(peers)') \
	    $(if $(limit),--limit='$(limit)') $(if $(dry),--dry-run) $(TRACED) -- $(TRACE_BENCH_FILES)

.PHONY: test-traces
TRACE_TEST_STAGES := $(patsubst %,$(B)/lib%.so,$(filter 3-% 4-% 5-%,$(REFERENCE)))
test-traces: $(TRACE_BENCH_PARTS) $(GENERATED_TRACES) $(TRACE_TEST_STAGES) ## the traces suite
	@$(if $(word 3,$(TRACE_TEST_STAGES)),sh bench/trace_test.sh $(B) $(CC),\
	    echo "test-traces: skipped: it needs stages 3, 4 and 5, which are not here")

.PHONY: list-traces
list-traces: $(TRACE_BENCH_PARTS) ## the traces, their calls, peak and mean size ([traces=DIR])
	@$(BENCH_DIR)/trace_bench --list system -- $(TRACE_BENCH_FILES)

.PHONY: traces
traces: $(RECORDER) ## record the traces in bench/traces anew ([only="perl lua"])
	@sh bench/traces/make.sh $(RECORDER) bench/traces $(only)

# What the README says of the traces is what the files hold; that they can be read at all is checked too.
.PHONY: check-traces
check-traces: $(TRACE_BENCH_PARTS) ## the figures in bench/traces/README.md are those of the files
	@$(BENCH_DIR)/trace_bench --list system -- $(TRACE_BENCH_FILES) | tail -n +3 | { bad=0; n=0; \
	    while read -r line; do n=$$((n + 1)); \
	        grep -qF "$$line" bench/traces/README.md || \
	            { echo "bench/traces/README.md lacks: $$line"; bad=1; }; \
	    done; [ $$n -ge 13 ] || { echo "only $$n traces"; bad=1; }; exit $$bad; }
