##@ Benchmark

# The same program, timed and counting.
$(BENCH_DIR)/growth: bench/growth.c $(BENCH_H) $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -ldl

$(B)/count/%/growth: bench/growth.c $(B)/count/%/mm.o $(COUNT_COMMON) bench/workloads.h $(HEADERS)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Ibench $(filter %.c %.o,$^) -o $@

SUITES += growth
.PHONY: bench-growth
GROWTH_PARTS = $(BENCH_DIR)/growth $(BENCH_DIR)/bench $(COUNTED:%=$(B)/lib%.so) $(COUNTED:%=$(B)/count/%/growth)
bench-growth: $(GROWTH_PARTS) ## cost of a call against the number of blocks, live and free: O(1) or O(n)? [limit=5]
	@$(SUITE_ENV) sh bench/growth.sh $(B) '$(or $(csv),$(BENCH_DIR)/growth.csv)' $(or $(limit),5) $(COUNTED)
