##@ Traces

# The programs that run traces. Built without Criterion; like the tests, they count work.
ENGINE_H := $(wildcard common/*.h tests/*.h)
TRACE_C := common/trace.c
REPLAY_O := $(addprefix $(B)/engine/,engine.o generate.o layout.o shrink.o trace.o)

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
