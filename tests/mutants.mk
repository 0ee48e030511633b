##@ Broken allocators

# The suite's binaries, and how make builds them: tests/mutants/run.py does the same with a mistake in one file.
MUTANTS = $(MAKE) -s --no-print-directory stage= $(REFERENCE:%=$(B)/tests/%) && mkdir -p $(B)/mutants && \
    $(MAKE) -Bn --no-print-directory stage= $(REFERENCE:%=$(B)/tests/%) > $(B)/mutants/commands && \
    tests/mutants/run.py --build $(B)/mutants --commands $(B)/mutants/commands $(if $(jobs),--jobs $(jobs))

.PHONY: mutants
mutants: | needs-python3 ## [stage=N] [only=NAME]: the suite on each broken allocator of tests/mutants/
	@$(MUTANTS) --stage '$(stage)' --only '$(only)'

.PHONY: mutant
mutant: | needs-python3 ## name=NAME [stage=N] [only='blocks/*'] [first=1]: what `make test` says of one of them
	@$(if $(name),,$(error mutant needs a name: make mutant name=NAME, NAME from tests/mutants/*.mutants))$(MUTANTS) --stage '$(stage)' --show '$(name)' $(if $(first),--first)

CHECKS += check-mutants
.PHONY: check-mutants
check-mutants:
	@if command -v python3 > /dev/null; then $(MUTANTS) --fast; \
	else echo "check-mutants: skipped, no python3; make setup brings it"; fi
