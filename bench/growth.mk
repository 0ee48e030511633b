# The same program, timed and counting.
$(BENCH_DIR)/growth: bench/growth.c $(BENCH_H) $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -ldl

$(B)/count/%/growth: bench/growth.c $(B)/count/%/mm.o $(COUNT_COMMON) bench/workloads.h $(HEADERS)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Ibench $(filter %.c %.o,$^) -o $@

GROWTH_LIMIT := $(or $(limit),5)

SUITES += growth
.PHONY: bench-growth
bench-growth: $(BENCH_DIR)/growth $(BENCH_DIR)/bench $(COUNTED:%=$(B)/lib%.so) $(COUNTED:%=$(B)/count/%/growth) ## cost of a call against the number of blocks, live and free: O(1) or O(n)? [limit=5]
	@echo 'allocator,blocks_are,blocks,ns,visits,note' > $(BENCH_DIR)/growth.new
	@for kind in live free; do for s in $(COUNTED) system; do \
	    [ ! -t 2 ] || printf '\r%s blocks: %-30s' $$kind $$s >&2; \
	    if [ $$s = system ]; then $(BENCH_DIR)/growth system system $$kind $(GROWTH_LIMIT); \
	    else LD_PRELOAD=$(abspath $(B))/lib$$s.so $(BENCH_DIR)/growth $$s $(abspath $(B))/lib$$s.so $$kind $(GROWTH_LIMIT) && \
	        $(B)/count/$$s/growth $$s '' $$kind $(GROWTH_LIMIT); \
	    fi >> $(BENCH_DIR)/growth.new || exit 1; done; done; [ ! -t 2 ] || printf '\r%50s\r' '' >&2
	@mv $(BENCH_DIR)/growth.new $(BENCH_DIR)/growth.csv
	@$(BENCH_DIR)/bench $(BENCH_BUILT) --title='growth'
	@awk -f bench/growth.awk $(BENCH_DIR)/growth.csv
	@echo; echo "raw figures: $(BENCH_DIR)/growth.csv"
