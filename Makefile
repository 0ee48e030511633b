# alloclab: `make help` lists what can be typed.
#
#   stage=N      one stage (1, 2, ... or my2); without it, all of them
#   validate=0|1 the check of the whole heap in each call, off or on (default: as the stage says)
#   CC=clang     another compiler

.DEFAULT_GOAL := help
SHELL := /bin/bash
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
B ?= build
comma := ,

# ---- Which stages there are, and which was asked for ----

# A folder under stages/ with an mm.c is a stage. Numbered ones first, in order, then the students' own.
# One with a file DRAFT is not finished: it is built only when stage= names it.
DRAFTS := $(filter-out $(stage) $(if $(stage),$(stage)-%),$(patsubst stages/%/DRAFT,%,$(wildcard stages/*/DRAFT)))
STAGES := $(filter-out $(DRAFTS),$(sort $(patsubst stages/%/mm.c,%,$(wildcard stages/*/mm.c))))
REFERENCE := $(filter 1-% 2-% 3-% 4-% 5-% 6-% 7-% 8-% 9-%,$(STAGES))
# What is typed for a stage: 3 for 3-no-validation, my2 for my2.
short = $(if $(filter $(1),$(REFERENCE)),$(firstword $(subst -, ,$(1))),$(1))
SHORT := $(foreach s,$(STAGES),$(call short,$(s)))

ifdef stage
SELECTED := $(strip $(foreach s,$(STAGES),$(if $(filter $(stage),$(s) $(call short,$(s))),$(s))))
ifeq ($(SELECTED),)
ifeq ($(filter start help,$(MAKECMDGOALS)),)
$(error stage=$(stage) does not exist; pick one of: $(SHORT))
endif
endif
else
SELECTED := $(STAGES)
endif

# Stops with a line that says what to type when a target needs one stage and got none.
need_stage = $(if $(stage),,$(error $@ needs a stage: make $@ stage=N, N one of: $(SHORT)))
# The stage before the selected one, if there is one: 2-... for 3-... and for my3.
NUMBER := $(firstword $(subst -, ,$(patsubst my%,%,$(firstword $(SELECTED)))))
before = $(filter $(shell echo $$(($(NUMBER) - 1)) 2>/dev/null)-%,$(REFERENCE))

# ---- Flags ----

# Warnings stop the build in `make check` only: half-written code may have some.
WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef $(WERROR)
# The compiler must not know what malloc is: it would remove calls, and make calloc call itself.
NO_BUILTIN := -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=c11 $(WARNINGS) $(NO_BUILTIN) -Icommon $(CFLAGS)

ifdef validate
ifeq ($(filter 0 1,$(validate)),)
$(error validate=$(validate) is not a switch; type validate=1 for on or validate=0 for off)
endif
ALL_CFLAGS += -DMM_VALIDATE=$(validate)
endif

COMMON_C := common/count.c common/memory.c common/misuse.c
HEADERS := $(wildcard common/*.h stages/*/*.h)

# Holds the compiler and its flags, so that a change of either rebuilds what it must and nothing else.
FLAGS_FILE := $(B)/flags
$(shell mkdir -p $(B); echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $(FLAGS_FILE) || echo '$(CC) $(ALL_CFLAGS)' > $(FLAGS_FILE))

# ---- Building ----

##@ Build

.PHONY: all
all: $(SELECTED:%=$(B)/lib%.so) ## every stage as a malloc library, build/libN-name.so

.PHONY: preload
preload: ## stage=N: its library, to run a program on it: LD_PRELOAD=build/libN-name.so ls
	@$(need_stage)$(MAKE) --no-print-directory all

# The timed build: preload.c with the stage inside, nothing counted.
$(B)/lib%.so: stages/%/mm.c common/preload.c $(COMMON_C) $(HEADERS) $(FLAGS_FILE)
	$(CC) $(ALL_CFLAGS) -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec \
	    -DMM_STAGE_FILE='"$<"' -I. common/preload.c $(COMMON_C) -o $@ -pthread

# The counting build, for tests: the stage alone, called through its table.
$(B)/count/%/mm.o: stages/%/mm.c $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -c $< -o $@

$(B)/count/common/%.o: common/%.c $(HEADERS) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -c $< -o $@

COUNT_COMMON := $(COMMON_C:common/%.c=$(B)/count/common/%.o)

.PRECIOUS: $(B)/count/%/mm.o $(B)/count/common/%.o

.PHONY: diff
diff: ## stage=N: what changed since the stage before: the lesson
	@$(need_stage)$(if $(before),,$(error stage $(stage) has no stage before it))
	@diff -u --color=auto stages/$(before)/mm.c stages/$(SELECTED)/mm.c || true

# What `make check` runs, in this order; the parts below add to it.
CHECKS := check-format check-stages check-compilers check-rebuild test asan

include $(wildcard */*.mk)

##@ Check

.PHONY: check check-format check-stages check-compilers check-rebuild
check: ## all that CI runs: format, rules, both compilers, tests, benchmark, docs
	@failed=; for check in $(CHECKS); do \
	    printf '== %s, at %s s\n' $$check $$SECONDS; $(MAKE) --no-print-directory $$check || failed="$$failed $$check"; \
	done; if [ -n "$$failed" ]; then echo "check: failed:$$failed" >&2; exit 1; fi; echo "check: all passed"

# Students format as they like; what is ours has one format.
FORMATTED := $(wildcard common/*.[ch] tests/*.[ch] bench/*.[ch] stages/6-*/*.h $(REFERENCE:%=stages/%/mm.c))
check-format:
	@if command -v clang-format > /dev/null; then clang-format --dry-run --Werror $(FORMATTED); \
	else echo "check-format: skipped, no clang-format; make setup brings it"; fi

check-stages:
	@tests/stage-rules.sh $(filter-out stages/6-%,$(REFERENCE:%=stages/%))

check-compilers:
	@for cc in gcc clang; do \
	    if command -v $$cc > /dev/null; then \
	        for v in 0 1; do $(MAKE) --no-print-directory -s all WERROR=-Werror CC=$$cc validate=$$v B=$(B)/check/$$cc$$v || exit 1; done; \
	        echo "$$cc: no warnings"; \
	    else echo "check-compilers: skipped, no $$cc; make setup brings it"; fi; \
	done

check-rebuild: all
	@$(MAKE) --no-print-directory -q all || { echo "check-rebuild: a second make would build again" >&2; exit 1; }

##@ Install

# The lab itself needs a C compiler and make. The rest is for tests, coverage, formatting, pictures and docs.
PACKAGES := libcriterion-dev pkg-config lcov clang clang-format valgrind gdb jq python3 patch parallel bubblewrap gnuplot-nox \
    mkdocs mkdocs-material

.PHONY: setup
setup: ## install what the tests and reports need (sudo only if you are not root)
	@tests/setup.sh $(PACKAGES)

# python3, valgrind: what a target cannot do without, for targets to name behind a |
.PHONY: needs-python3 needs-valgrind
needs-python3 needs-valgrind: needs-%:
	@command -v $* > /dev/null || { echo "this needs $*; make setup installs it" >&2; exit 1; }

##@ Housekeeping

.PHONY: clean
clean: ## remove build/; the stages, yours too, stay
	rm -rf $(B)

# Sections come from several files: those of one name are one, in this order, then any other.
HELP_ORDER := Course,Build,Test,Find faults,Broken allocators,Threads,Real programs,Misuse by a program,Benchmark,\
    Counted work,Traces,Classics,Pictures,Docs,Teach,Check,Install,Housekeeping

.PHONY: help
help: ## this list (the default)
	@awk -v order='$(HELP_ORDER)' 'BEGIN { FS = ":.*## "; n = split(order, section, / *, */); \
	        for (i = 1; i <= n; i++) listed[section[i]] } \
	    /^##@ / { now = substr($$0, 5); if (!(now in listed)) { listed[now]; section[++n] = now } } \
	    /^[a-z][a-z-]*:.*## / { targets[now] = targets[now] sprintf("  make %-19s %s\n", $$1, $$2) } \
	    END { for (i = 1; i <= n; i++) if (section[i] in targets) \
	        printf "\n%s\n%s", section[i], targets[section[i]] }' $(MAKEFILE_LIST)
	@printf '\nStages: %s   (stage=N picks one)\n' '$(SHORT)$(if $(DRAFTS), and the drafts $(DRAFTS))'
