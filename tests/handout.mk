##@ Teach

.PHONY: handout
handout: | needs-python3 ## stages=1 out=DIR: a repository for students: these finished stages, no code of the others
	@tests/handout.py '$(stages)' '$(out)'

.PHONY: test-handout
test-handout: | needs-python3 ## a handout has no line of the stages left out, and works
	@tests/handout.sh
CHECKS += test-handout
