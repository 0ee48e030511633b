##@ Benchmark

SUITES += threads

$(BENCH_DIR)/threads: bench/threads.c $(filter-out bench/bench.c bench/compare.c,$(BENCH_C)) $(BENCH_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@ -pthread -lm

THREADS_CSV = $(or $(csv),$(BENCH_DIR)/threads.csv)
THREADS_JSON = $(or $(json),$(BENCH_DIR)/threads.json)

.PHONY: bench-threads
bench-threads: $(BENCH_DIR)/threads $(BENCH_DIR)/bench $(BENCHED_STAGES:%=$(B)/lib%.so) ## four workloads of several threads ([threads=2] [peers=all] [rounds=6] [milliseconds=300])
	@status=0; $< --build=$(abspath $(B)) --csv='$(THREADS_CSV)' --json='$(THREADS_JSON)' $(if $(rounds),--rounds='$(rounds)') \
	    $(if $(threads),--threads='$(threads)') $(if $(milliseconds),--milliseconds='$(milliseconds)') \
	    $(if $(peers),--peers='$(peers)') $(BENCHED_STAGES) || status=$$?; \
	[ $$status = 2 ] || { $(BENCH_DIR)/bench --title=threads --rows='$(THREADS_CSV)' --json='$(THREADS_JSON)' \
	    $(BENCH_BUILT) $$([ $$status -le 128 ] || echo --interrupted) > /dev/null && \
	    echo 'raw figures: $(THREADS_CSV), $(THREADS_JSON)'; } || status=2; \
	exit $$status

test-bench: $(BENCH_DIR)/threads
