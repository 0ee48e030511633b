##@ Docs

# A small program from docs/examples/: name=double-free for docs/examples/double-free.c.
EXAMPLES := $(basename $(notdir $(wildcard docs/examples/*.c)))

# No warnings: most of these programs are wrong on purpose, and the compiler would say so.
$(B)/examples/%: docs/examples/%.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -w -O2 -g -fno-builtin $< -o $@

.PHONY: example
example: ## name=double-free [stage=N]: run a program of docs/examples, over a stage or the system's malloc
	@$(if $(filter $(EXAMPLES),$(name)),,$(error example needs a name: make example name=N, N one of: $(EXAMPLES)))
	@$(MAKE) --no-print-directory -s $(B)/examples/$(name) $(if $(stage),$(SELECTED:%=$(B)/lib%.so))
	@$(if $(stage),LD_PRELOAD=$(abspath $(SELECTED:%=$(B)/lib%.so))) $(B)/examples/$(name) 2>&1 | cat; \
	status=$${PIPESTATUS[0]}; [ $$status -le 128 ] || echo "ended by SIG$$(kill -l $$((status - 128)))"

$(B)/count/%/count: docs/count.c $(B)/count/%/mm.o $(COUNT_COMMON) common/trace.c bench/workloads.c bench/workloads.h $(HEADERS)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Ibench $(filter %.c %.o,$^) -o $@

.PHONY: count
count: ## [stage=N] workload=NAME or trace=FILE: blocks visited, splits, merges: the same on every machine
	@$(if $(workload)$(trace),,$(error count needs workload=NAME, one of bench/workloads.c, or trace=FILE))
	@$(MAKE) --no-print-directory -s $(SELECTED:%=$(B)/count/%/count)
	@printf '%-16s %6s %10s %10s %7s %7s %6s %8s %9s%s\n' stage calls searched validated splits merges grows copied \
	    'peak heap' '$(if $(trace),  payload  used %)'
	@for s in $(SELECTED); do $(B)/count/$$s/count $(if $(trace),trace '$(trace)',workload '$(workload)') || exit 1; done

.PHONY: docs-refresh
docs-refresh: | needs-python3 ## bring the code and the output that the docs quote up to date
	docs/img/draw.py
	B='$(B)' docs/refresh

.PHONY: docs-measure
docs-measure: | needs-python3 ## measure anew what the docs show of times, with machine and date: [page=docs/FILE.md]
	B='$(B)' docs/refresh --measure $(page)

CHECKS += docs-check
.PHONY: docs-check
docs-check: | needs-python3 ## fail if a quote drifted, or if the docs name a file, heading or target that is not there
	@docs/img/draw.py --check
	@B='$(B)' docs/refresh --check

SITE := $(B)/site

# Strict: a link that leads nowhere stops the build.
.PHONY: docs
docs: ## the course as a site, build/site/index.html: works from disk, with search
	@command -v mkdocs > /dev/null || { echo "the site needs MkDocs and its theme Material:" \
	    "apt-get install mkdocs mkdocs-material" >&2; exit 1; }
	@mkdocs build --quiet --strict --config-file docs/site/mkdocs.yml --site-dir $(abspath $(SITE))
	@echo "$(SITE)/index.html"

.PHONY: docs-serve
docs-serve: docs ## the site at http://localhost:8000, until Ctrl-C ([port=8000])
	@python3 -m http.server --directory $(SITE) --bind 127.0.0.1 $(or $(port),8000)
