# The teacher's side: docs/teaching.md.

##@ Teach

# What a submission is linked with and may read: copied into its box. Built like the tests, whatever stage= says.
GRADE_KIT := $(B)/grade/kit
GRADE_TEST_O = $(sort $(TEST_O) $(filter-out %/layout.o,$(REPLAY_O)) $(B)/tests/grade.o)
GRADE_COUNTS_O := $(B)/grade/counts.o $(B)/grade/workloads.o

$(B)/grade/%.o: bench/%.c $(HEADERS) $(wildcard bench/*.h) $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_COUNT=1 -Ibench -c $< -o $@

$(B)/grade/stage_file.o: tests/stage_file.c tests/stage_file.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DMM_STAGE_FILE='"mm.c"' -c $< -o $@

# A make of its own: this file is read before those that say what the tests are made of.
.PHONY: grade-kit
grade-kit:
	@$(MAKE) --no-print-directory -s $(GRADE_TEST_O) $(GRADE_COUNTS_O) $(B)/grade/stage_file.o $(COUNT_COMMON)
	@rm -rf $(GRADE_KIT) && mkdir -p $(addprefix $(GRADE_KIT)/,tests counts shared common top/tests)
	@cp $(GRADE_TEST_O) $(B)/grade/stage_file.o $(GRADE_KIT)/tests
	@cp $(GRADE_COUNTS_O) $(GRADE_KIT)/counts
	@cp $(COUNT_COMMON) $(GRADE_KIT)/shared
	@cp $(HEADERS) $(GRADE_KIT)/common
	@cp -R tests/cases $(GRADE_KIT)/top/tests
	@echo '$(CC)' > $(GRADE_KIT)/cc
	@echo '$(CRITERION)' > $(GRADE_KIT)/criterion

GRADE_FORMATS := gradescope autolab junit text
grade_format = $(if $(format),$(or $(filter $(GRADE_FORMATS),$(format)),$(error format=$(format) does not exist; pick one of: $(GRADE_FORMATS))))
GRADE_ONE = tests/grade.py one --kit $(GRADE_KIT) $(if $(seconds),--seconds $(seconds)) $(if $(grade_format),--format $(grade_format))

# The capstone has no points: no two of them are alike in what they look at. Its goals are measured.
GRADED = $(filter-out 6-%,$(REFERENCE))
graded = $(if $(filter 6,$(1)),$(error stage 6 is not graded by points; make stage=6 test and make stage=6 bench show its goals))

# Without out=, plain text on the screen.
.PHONY: grade
grade: grade-kit ## stage=my3 [out=results.json] [format=autolab|junit|text]: points from tests and counted work
	@$(need_stage)$(call graded,$(NUMBER))$(GRADE_ONE) --stage $(NUMBER) $(if $(out),--out '$(out)',$(if $(format),,--format text)) stages/$(SELECTED)/mm.c

.PHONY: grade-class
grade-class: grade-kit ## submissions=DIR number=3 [out=DIR] [jobs=N]: DIR/NAME/mm.c or DIR/NAME.c, each in a box
	@$(call graded,$(number))kit='$(GRADE_KIT)' out='$(or $(out),$(B)/grades)' jobs='$(jobs)' seconds='$(seconds)' parallel='$(parallel)' \
	    tests/grade.class.sh '$(submissions)' '$(number)'

.PHONY: test-grade
test-grade: grade-kit ## the finished stages get all points; hostile submissions get their due, and no more
	@tests/grade.test.sh $(GRADE_KIT) $(GRADED)
# Not among the checks as a whole: it takes minutes.
CHECKS += check-grade
.PHONY: check-grade
check-grade: grade-kit
	@finished_only=1 tests/grade.test.sh $(GRADE_KIT) $(GRADED)
