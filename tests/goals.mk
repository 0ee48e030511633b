# The goals of each stage: the stage passes them, the stage before fails them.

TEST_C += tests/goals.c

.PHONY: check-goals
check-goals: $(REFERENCE:%=$(B)/tests/%) ## each stage meets its goals, and the stage before does not
	@failed=; before=; for s in $(REFERENCE); do n=$${s%%-*}; \
	    if [ -n "$$before" ] && grep -q "goal_$$n," tests/goals.c; then \
	        run() { GOAL=$$n timeout 300 $(B)/tests/$$1 --filter "goal_$$n/*" > $(B)/goals.log 2>&1; }; \
	        if run $$s; then echo "stage $$s meets goal $$n"; \
	        else echo "check-goals: stage $$s does not meet goal $$n" >&2; cat $(B)/goals.log >&2; failed=1; fi; \
	        if run $$before; then echo "check-goals: stage $$before meets goal $$n: the goal shows nothing" >&2; failed=1; \
	        elif grep -q 'Crashing: 0' $(B)/goals.log; then echo "stage $$before fails it, as it should"; \
	        else echo "check-goals: stage $$before crashed in goal $$n" >&2; cat $(B)/goals.log >&2; failed=1; fi; \
	    fi; before=$$s; done; [ -z "$$failed" ]

CHECKS += check-goals
