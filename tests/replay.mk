##@ Find faults

# The programs that run traces. Built without Criterion; like the tests, they count work.
ENGINE_H := $(wildcard common/*.h tests/*.h)
TRACE_C := common/trace.c
REPLAY_O := $(addprefix $(B)/engine/,engine.o generate.o layout.o program.o run.o shrink.o trace.o)

$(B)/engine/%.o: tests/%.c $(ENGINE_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Itests -c $< -o $@

$(B)/engine/%.o: common/%.c $(ENGINE_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

# The only object that differs from stage to stage: it knows the stage's file.
$(B)/engine/%/stage_file.o: tests/stage_file.c tests/stage_file.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_STAGE_FILE='"stages/$*/mm.c"' -c $< -o $@

$(B)/engine/%/replay: $(B)/count/%/mm.o $(COUNT_COMMON) $(B)/engine/%/stage_file.o $(B)/engine/replay.o $(REPLAY_O)
	$(CC) $(ALL_CFLAGS) $^ -o $@

.PRECIOUS: $(B)/engine/%.o $(B)/engine/%/stage_file.o

# Stops with a line that says what to type when there is no trace=FILE, or no such file.
need_trace = $(need_stage)$(if $(trace),$(if $(wildcard $(trace)),,$(error $(trace): there is no such file)),$\
    $(error $@ needs a trace: make $@ stage=$(stage) trace=FILE, as tests/cases/merge-both.trace))
REPLAY = $(B)/engine/$(SELECTED)/replay

.PHONY: replay shrink show replay-build
replay-build: $(SELECTED:%=$(B)/engine/%/replay)

replay: ## stage=N trace=FILE [every=K]: run a trace, check everything after each operation
	@$(need_trace)$(MAKE) --no-print-directory -s replay-build
	@$(REPLAY) replay $(trace) $(if $(every),every=$(every))

shrink: ## stage=N trace=FILE: the shortest trace that fails in the same way, and a C program
	@$(need_trace)$(MAKE) --no-print-directory -s replay-build
	@$(REPLAY) shrink $(trace) $(if $(every),every=$(every)) save=$(B)/fail-$(stage)

show: ## stage=N trace=FILE [step=K]: a picture of the heap after each operation
	@$(need_trace)$(MAKE) --no-print-directory -s replay-build
	@$(REPLAY) show $(trace) $(if $(step),step=$(step))

# What proves the above.
.PHONY: test-replay
test-replay: $(B)/engine/3-no-validation/replay $(B)/engine/exhaustive.o ## replay, shrink and exhaustive find what is broken on purpose
	@tests/replay.sh $(B) $(CC) $(REPLAY_O) $(COUNT_COMMON)

# The longest sequences take a minute, fuzzing as long as one likes: shorter here.
.PHONY: check-exhaustive check-fuzz
check-exhaustive:
	@$(MAKE) --no-print-directory -s exhaustive depth=5

check-fuzz:
	@for n in 1 5; do $(MAKE) --no-print-directory -s fuzz stage=$$n seconds=5 || exit 1; done

CHECKS += test-replay check-exhaustive check-fuzz

# The same objects are in the test suite: for the cases, the random operations and the reader.
TEST_C += $(addprefix tests/,cases.c random.c trace_reader.c)
$(SELECTED:%=$(B)/tests/%): $(B)/tests/%: $(B)/engine/%/stage_file.o $(filter-out %/layout.o,$(REPLAY_O))

$(B)/engine/%/exhaustive: $(B)/count/%/mm.o $(COUNT_COMMON) $(B)/engine/%/stage_file.o $(B)/engine/exhaustive.o $(REPLAY_O)
	$(CC) $(ALL_CFLAGS) $^ -o $@

.PHONY: exhaustive $(SELECTED:%=exhaustive/%)
exhaustive: $(SELECTED:%=exhaustive/%) ## [stage=N] [depth=6]: every sequence of up to so many operations

$(SELECTED:%=exhaustive/%): exhaustive/%: $(B)/engine/%/exhaustive
	@$< $(or $(depth),6) $(B)/fail-$*

.PHONY: stress $(SELECTED:%=stress/%)
stress: $(SELECTED:%=stress/%) ## [stage=N] [operations=10000000] [seed=1]: random operations, many of them

$(SELECTED:%=stress/%): stress/%: $(B)/engine/%/replay
	@$< stress $(or $(seed),1) $(or $(operations),10000000) $(B)/fail-$*

# With the sanitizers in: the fuzzer, and a replay to shrink what it finds. Only the stage is watched for coverage:
# an input is new if it reaches something new there.
FUZZ_CC := clang -std=c11 $(NO_BUILTIN) -Icommon -Itests -DMM_COUNT=1 -O2 -g -fsanitize=address,undefined \
    -fno-sanitize-recover=all $(if $(validate),-DMM_VALIDATE=$(validate))
FUZZ_O := $(addprefix $(B)/fuzz/,count.o memory.o misuse.o trace.o engine.o generate.o layout.o)

$(B)/fuzz/%.o: common/%.c $(ENGINE_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(FUZZ_CC) -c $< -o $@

$(B)/fuzz/%.o: tests/%.c $(ENGINE_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(FUZZ_CC) -c $< -o $@

$(B)/fuzz/%/mm.o: stages/%/mm.c $(ENGINE_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(FUZZ_CC) -fsanitize=fuzzer-no-link -c $< -o $@

$(B)/fuzz/%/fuzz: $(B)/fuzz/%/mm.o $(B)/fuzz/fuzz.o $(FUZZ_O)
	@mkdir -p $(@D)/corpus
	$(FUZZ_CC) -fsanitize=fuzzer $^ -o $@

$(B)/fuzz/%/replay: $(B)/fuzz/%/mm.o $(addprefix $(B)/fuzz/,program.o replay.o run.o shrink.o) tests/stage_file.c $(FUZZ_O)
	$(FUZZ_CC) -DMM_STAGE_FILE='"stages/$*/mm.c"' $^ -o $@

.PRECIOUS: $(B)/fuzz/%.o $(B)/fuzz/%/mm.o

.PHONY: fuzz
fuzz: ## stage=N [seconds=60]: libFuzzer looks for a trace that fails; with AddressSanitizer and UBSan
	@$(need_stage)if command -v clang > /dev/null; then tests/fuzz.sh $(SELECTED) $(B) $(or $(seconds),60); \
	else echo "fuzz: skipped, no clang; make setup brings it"; fi
