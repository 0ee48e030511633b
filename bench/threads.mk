SUITES += threads

$(BENCH_DIR)/threads: bench/threads.c bench/run.c bench/stats.c bench/machine.c $(BENCH_H) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@ -pthread -lm

# The stages that are asked for, the peers that can be preloaded, the system's malloc first.
THREADS_PEERS := jemalloc=libjemalloc.so.2 mimalloc=libmimalloc.so.2 tcmalloc=libtcmalloc_minimal.so.4 \
    tbbmalloc=libtbbmalloc_proxy.so.2

.PHONY: bench-threads
bench-threads: $(BENCH_DIR)/threads $(SELECTED:%=$(B)/lib%.so) ## four workloads of several threads ([threads=2] [peers=all])
	@$< $(or $(rounds),5) $(or $(threads),2) $(or $(milliseconds),300) system $(foreach s,$(SELECTED),$(s)=$(abspath $(B)/lib$(s).so)) \
	    $(if $(peers),$(THREADS_PEERS))
