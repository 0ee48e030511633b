##@ Threads

# Stages that several threads may call at once: those with a lock, or none, of their own.
THREADED := $(filter 6-% my6,$(SELECTED))

$(B)/stress/%: tests/threads_stress.c stages/%/mm.c $(COMMON_C) $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@ -pthread

$(B)/tsan/%: tests/threads_stress.c stages/%/mm.c $(COMMON_C) $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fsanitize=thread $(filter %.c,$^) -o $@ -pthread

.PHONY: stress-threads
stress-threads: $(THREADED:%=$(B)/stress/%) ## [rounds=20] [seed=1]: threads that come and go, fork, signals, no memory
	@for s in $^; do $$s $(or $(rounds),20) $(or $(seed),1) || exit 1; done

.PHONY: tsan
tsan: $(THREADED:%=$(B)/tsan/%) ## [rounds=3]: the same under ThreadSanitizer
	@for s in $^; do TSAN_OPTIONS='halt_on_error=1 die_after_fork=0' $$s $(or $(rounds),3) $(or $(seed),1) || exit 1; done
