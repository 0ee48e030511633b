##@ Real programs

# Real programs over the preload libraries.

PRELOADED := $(addprefix $(B)/tests/preload_,threads calls)

$(PRELOADED): $(B)/tests/%: tests/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -pthread

.PHONY: test-preload
test-preload: all $(PRELOADED) ## [stage=N]: ls, gcc, python3, sqlite3, threads, fork and every call over it
	@tests/preload.sh $(abspath $(B)) $(foreach s,$(SELECTED),$(abspath $(B)/lib$(s).so))

CHECKS += test-preload
