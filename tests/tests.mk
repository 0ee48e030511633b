##@ Test

# Every stage is linked to the same test objects; they reach it through its table alone. Other files add to this.
TEST_C += $(addprefix tests/,lab.c layout.c contract.c payload.c blocks.c bits.c memory.c misuse.c check.c threads.c)
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

.PHONY: test test-suites
test: test-suites ## [stage=N] [only='blocks/*'] [all=1]: every test; with stage=N, of that stage
test-suites: $(TEST_BINARIES)
	@only='$(only)' all='$(all)' tests/suite.sh $(B) $(SELECTED)

# The suite again, built in another way and elsewhere: with the sanitizers, or with counters for coverage.
SANITIZE := -O1 -g -DLAB_SANITIZED -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

.PHONY: asan
asan: ## [stage=N]: the suite over stages built with AddressSanitizer and UBSan
	@ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	    $(MAKE) --no-print-directory -s B=$(B)/asan CFLAGS='$(SANITIZE)' test-suites

.PHONY: coverage
coverage: ## [stage=N]: the lines and branches that tests reach; HTML in build/coverage
	@B=$(B)/coverage stage='$(stage)' tests/coverage.sh $(MAKE)
