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
bench-space: $(COUNTED:%=$(B)/space/%) $(TRACE_BENCH_PARTS) $(BENCH_DIR)/bench $(SPACE_LOADS:%=$(B)/traces/%.trace) ## peak heap, and where its bytes are: [only="uniform log"] [peers=all] [limit=10]
	@$(BENCH_DIR)/trace_bench --build=$(B) --dry-run --csv=$(BENCH_DIR)/space-resident.csv \
	    $(if $(peers),--peers='$(peers)') system -- $(SPACE_CHOSEN) > $(BENCH_DIR)/space-resident.txt
	@$(B)/space/$(firstword $(COUNTED)) > $(BENCH_DIR)/space.new
	@for s in $(COUNTED); do [ ! -t 2 ] || printf '\r%-40s' $$s >&2; \
	    $(B)/space/$$s $$s $(or $(limit),10) $(SPACE_CHOSEN) >> $(BENCH_DIR)/space.new || exit 1; done; \
	    [ ! -t 2 ] || printf '\r%40s\r' '' >&2
	@mv $(BENCH_DIR)/space.new $(BENCH_DIR)/space.csv
	@$(BENCH_DIR)/bench $(BENCH_BUILT) --title='space'
	@awk -v loads='$(if $(only),$(only),$(SPACE_LOADS))' -f bench/space.awk $(BENCH_DIR)/space-resident.csv $(BENCH_DIR)/space.csv
	@echo; echo "raw figures: $(BENCH_DIR)/space.csv, $(BENCH_DIR)/space-resident.csv"
