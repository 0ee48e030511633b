# Real programs over the preload libraries.

$(B)/tests/preload_threads: tests/preload_threads.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -pthread

.PHONY: test-preload
test-preload: all $(B)/tests/preload_threads ## [stage=N]: ls, gcc, python3, sqlite3, threads and fork over it
	@tests/preload.sh $(abspath $(B)) $(foreach s,$(SELECTED),$(abspath $(B)/lib$(s).so))

CHECKS += test-preload
