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

.PHONY: docs-refresh
docs-refresh: ## bring the code and the output that the docs quote up to date
	docs/refresh

.PHONY: docs-check
docs-check: ## fail if a quote drifted, or if the docs name a file, heading or target that is not there
	docs/refresh --check
