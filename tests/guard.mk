# The caller's misuse of a stage's heap, as AddressSanitizer and Valgrind see it: common/guard.h.

##@ Misuse by a program

# The stage with its marks, to be linked into a program that is built with -fsanitize=address. The stage itself is
# not instrumented, and copies with functions that AddressSanitizer does not watch.
ASAN_GUARD_O = $(B)/guard/$(1)/preload.o $(B)/guard/guard_copy.o $(COMMON_C:common/%.c=$(B)/guard/%.o)
GUARD_CFLAGS := -Dmemcpy=guard_copy -Dmemset=guard_set -I.

$(B)/guard/%/preload.o: stages/%/mm.c common/preload.c $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(GUARD_CFLAGS) -DMM_GUARD=1 -DMM_STAGE_FILE='"$<"' -c common/preload.c -o $@

$(B)/guard/%.o: common/%.c $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(GUARD_CFLAGS) -c $< -o $@

$(B)/guard/guard_copy.o: tests/guard_copy.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

# Without optimisation, or gcc drops writes that nobody reads, and with them the crime.
# LeakSanitizer knows nothing of the stage's heap.
ASAN_CLIENT = ASAN_OPTIONS=detect_leaks=0:$$ASAN_OPTIONS

.PHONY: asan-program
asan-program: $(if $(stage),$(call ASAN_GUARD_O,$(firstword $(SELECTED)))) ## stage=N program=FILE.c [arguments=…]: run it over a stage, ASan watching
	@$(need_stage)$(if $(program),,$(error $@ needs a C file: make $@ stage=N program=FILE.c))
	@$(CC) -std=c11 -g -O0 -fsanitize=address -fno-omit-frame-pointer $(program) $^ -o $(B)/guard/program -pthread
	@$(ASAN_CLIENT) $(B)/guard/program $(arguments)

$(B)/guard/lib%.so: stages/%/mm.c common/preload.c $(COMMON_C) $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	@echo '#include <valgrind/memcheck.h>' | $(CC) -x c -fsyntax-only - 2> /dev/null || \
	    { echo "no valgrind/memcheck.h; make setup brings it" >&2; exit 1; }
	$(CC) $(ALL_CFLAGS) -Wno-pedantic -Wno-conversion -fPIC -shared -fvisibility=hidden -DMM_GUARD=2 \
	    -DMM_STAGE_FILE='"$<"' -I. common/preload.c $(COMMON_C) -o $@ -pthread

.PHONY: valgrind
valgrind: $(if $(stage),$(B)/guard/lib$(firstword $(SELECTED)).so) ## stage=N cmd='…': run any command over a stage, Valgrind watching
	@$(need_stage)$(if $(cmd),,$(error $@ needs a command: make $@ stage=N cmd='ls -l'))
	@LD_PRELOAD=$(abspath $<) valgrind -q --error-exitcode=9 --soname-synonyms=somalloc=nouserintercepts $(cmd)

$(B)/guard/client-%: tests/client_crimes.c $(B)/guard/%/preload.o $(call ASAN_GUARD_O,%)
	$(CC) $(ALL_CFLAGS) -O1 -fsanitize=address $< $(filter %.o,$^) -o $@ -pthread

$(B)/guard/client: tests/client_crimes.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -O1 $< -o $@

.PHONY: test-guard
test-guard: $(B)/guard/client $(SELECTED:%=$(B)/guard/client-%) $(SELECTED:%=$(B)/guard/lib%.so) ## [stage=N]: commit each crime, expect the report of ASan and Valgrind
	@tests/guard.sh $(B)/guard $(SELECTED)

CHECKS += test-guard
