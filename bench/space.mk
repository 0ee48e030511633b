##@ Benchmark

# Loads of one kind of block each, written by tracegen, and the traces.
SPACE_LOADS := live-10k live-100k live-1m uniform log
SPACE_FILES := $(SPACE_LOADS:%=$(B)/traces/%.trace) $(TRACE_BENCH_FILES)
SPACE_CHOSEN = $(if $(only),$(or $(foreach o,$(only),$(filter %/$(o).trace %/$(o).trace.gz,$(SPACE_FILES))),$(error \
    only=$(only) does not exist; pick from: $(basename $(basename $(notdir $(SPACE_FILES)))))),$(SPACE_FILES))

# Without validation: it changes no layout, and stages 1 and 2 would take minutes.
$(B)/space/%: bench/space.c stages/%/mm.c $(COMMON_C) common/trace.c $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -UMM_VALIDATE -DMM_VALIDATE=0 bench/space.c stages/$*/mm.c $(COMMON_C) common/trace.c -o $@

SUITES += space
.PHONY: bench-space
SPACE_PARTS = $(COUNTED:%=$(B)/space/%) $(TRACE_BENCH_PARTS) $(BENCH_DIR)/bench $(SPACE_LOADS:%=$(B)/traces/%.trace)
bench-space: $(SPACE_PARTS) ## peak heap, and where its bytes are: [only="uniform log"] [peers=all] [limit=10]
	@$(SUITE_ENV) sh bench/space.sh $(B) '$(or $(csv),$(BENCH_DIR)/space.csv)' $(or $(limit),10) '$(peers)' \
	    '$(or $(only),$(SPACE_LOADS))' $(COUNTED) -- $(SPACE_CHOSEN)
