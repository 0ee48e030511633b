##@ Classics

CXX := $(if $(filter default,$(origin CXX)),g++,$(CXX))
CXX_FLAGS := -std=c++17 $(WARNINGS) $(CFLAGS)

$(B)/bench/classics: bench/classics.c common/pool.c common/item_pool.c $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@ -ldl

# Compiled twice: so that every call is made, and as the compiler likes it.
$(B)/bench/%-kept: bench/%.cc bench/classics.hh $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) $(NO_BUILTIN) -DKEPT=1 $< -o $@

$(B)/bench/%-optimised: bench/%.cc bench/classics.hh $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -DKEPT=0 $< -o $@

CLASSICS := lists small zeroed
CLASSICS_CXX := $(foreach p,small_objects zeroed,$(B)/bench/$(p)-kept $(B)/bench/$(p)-optimised)

.PHONY: classics-cxx
classics-cxx:
	@if command -v $(CXX) > /dev/null; then \
	    $(MAKE) --no-print-directory $(CLASSICS_CXX); \
	else \
	    echo "skipped: the C++ lines, no $(CXX) here; type: apt-get install g++ libboost-dev"; \
	fi

CLASSICS_OF := $(if $(stages),$(filter $(STAGES),$(BENCHED)),$(SELECTED))
SUITES += classics
.PHONY: bench-classics
bench-classics: ## list nodes, small objects, zeroed memory: [only=lists|small|zeroed] [rounds=6]
bench-classics: $(B)/bench/classics $(BENCH_DIR)/bench $(CLASSICS_OF:%=$(B)/lib%.so) classics-cxx
	@$(if $(filter-out $(CLASSICS),$(only)),$(error only=$(only) is not a classic; pick from: $(CLASSICS)))
	@STAGES='$(CLASSICS_OF)' $(SUITE_ENV) sh bench/classics.sh $(B) '$(or $(csv),$(BENCH_DIR)/classics.csv)' $(or $(rounds),6) \
	    $(or $(only),$(CLASSICS))

# Everything once, and every figure is there: a failed measurement leaves a "-" or stops it all.
.PHONY: check-classics
check-classics:
	@$(MAKE) --no-print-directory -s bench-classics rounds=1 > $(B)/bench/classics.txt && \
	    ! grep -E ' -( |$$)' $(B)/bench/classics.txt || { cat $(B)/bench/classics.txt; exit 1; }
CHECKS += check-classics

# The pools are no stage's: one program tests them, over the last stage besides malloc.
$(B)/tests/pools: $(addprefix $(B)/,tests/pool.o count/common/pool.o count/common/item_pool.o) \
    $(B)/count/$(lastword $(REFERENCE))/mm.o $(COUNT_COMMON)
	$(CC) $(ALL_CFLAGS) $^ -o $@ $(CRITERION)

.PHONY: test-pools
test-pools: $(B)/tests/pools ## the general memory pool and the item pool
	@$< -j1

ifndef stage
test: test-pools
endif

# What calloc leaves alone: part of every stage's suite.
TEST_C += tests/fresh.c
