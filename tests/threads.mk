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
tsan: $(THREADED:%=$(B)/tsan/%) ## [rounds=3] [seed=1]: the same under ThreadSanitizer
	@for s in $^; do TSAN_OPTIONS='halt_on_error=1 die_after_fork=0' $$s $(or $(rounds),3) $(or $(seed),1) || exit 1; done

.PHONY: helgrind
helgrind: $(THREADED:%=$(B)/stress/%) ## [rounds=2] [seed=1]: the same, shorter, under Valgrind's Helgrind
	@if command -v valgrind > /dev/null; then for s in $^; do \
	    valgrind -q --tool=helgrind --error-exitcode=3 --child-silent-after-fork=yes $$s $(or $(rounds),2) $(or $(seed),1) 1000 || exit 1; \
	done; else echo "helgrind: skipped, no valgrind; make setup brings it"; fi

$(B)/foreign: tests/foreign.c $(FLAGS_FILE)
	$(CC) $(ALL_CFLAGS) $< -o $@ -ldl

.PHONY: check-foreign
check-foreign: $(B)/foreign $(SELECTED:%=$(B)/lib%.so) $(REFERENCE:%=$(B)/lib%.so) ## [stage=N]: free of a block of another stage's heap is reported
	@n=0; for s in $(SELECTED); do for other in $(REFERENCE); do \
	    [ $$s != $$other ] || continue; \
	    for bytes in 64 5000 1000000; do n=$$((n + 1)); \
	        said=$$($< $(abspath $(B))/lib$$s.so $(abspath $(B))/lib$$other.so $$bytes 2>&1); status=$$?; \
	        [ $$status = 134 ] && [[ $$said == *"alloclab: E03 free: pointer outside the heap"* ]] || \
	            { echo "check-foreign: $$s freed $$bytes bytes of $$other, status $$status: $$said" >&2; exit 1; }; \
	    done; done; done; echo "check-foreign: $$n blocks of another heap, all reported"

CHECKS += check-foreign check-threads
.PHONY: check-threads
check-threads:
	@$(MAKE) --no-print-directory -s stress-threads rounds=8
	@$(MAKE) --no-print-directory -s tsan rounds=2
	@$(MAKE) --no-print-directory -s helgrind rounds=1
