##@ Test

# Every stage is linked to the same test objects; they reach it through its table alone.
TEST_C += $(addprefix tests/,lab.c layout.c contract.c payload.c blocks.c bits.c memory.c misuse.c check.c)
TEST_O := $(TEST_C:%.c=$(B)/%.o)
TEST_BINARIES := $(SELECTED:%=$(B)/tests/%)

# Where Criterion is: pkg-config knows on Macs, elsewhere the compiler finds it alone.
CRITERION := $(shell pkg-config --cflags --libs criterion 2> /dev/null || echo -lcriterion)

$(B)/tests/%.o: tests/%.c $(HEADERS) $(wildcard tests/*.h) $(FLAGS_FILE) | $(B)/tests/criterion
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Itests -c $< -o $@

# One line instead of a page of errors when it is missing.
$(B)/tests/criterion:
	@mkdir -p $(@D)
	@echo '#include <criterion/criterion.h>' | $(CC) -x c -fsyntax-only $(filter -I%,$(CRITERION)) - 2> /dev/null || \
	    { echo "the tests need Criterion; make setup installs it" >&2; exit 1; }
	@touch $@

$(TEST_BINARIES): $(B)/tests/%: $(B)/count/%/mm.o $(COUNT_COMMON) $(TEST_O)
	$(CC) $(ALL_CFLAGS) $^ -o $@ $(CRITERION)

.PHONY: test
test: $(TEST_BINARIES) ## [stage=N]: the whole suite, of one stage or of all
	@failed=; for s in $(SELECTED); do echo "$$s"; LC_ALL=C $(B)/tests/$$s -j1 || failed="$$failed $$s"; done; [ -z "$$failed" ]
