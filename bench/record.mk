##@ Traces

# The recorder is the one library here that must not be a stage: it goes between a program and libc.
$(B)/record/librecord.so: bench/record.c bench/record.h common/bits.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fPIC -shared -fvisibility=hidden $< -o $@ -pthread

$(B)/record/record_text: bench/record_text.c bench/record.h common/trace.c common/trace.h $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(filter %.c,$^) -o $@

$(B)/record/record_program: bench/record_program.c $(FLAGS_FILE)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $< -o $@ -pthread

RECORDER := $(B)/record/librecord.so $(B)/record/record_text

.PHONY: record
record: $(RECORDER) ## cmd='…' out=FILE.trace.gz: record a program's calls of malloc (program=NAME, all=1)
	@$(if $(and $(cmd),$(out)),,$(error record needs a command and a file: make record cmd='ls -l /' out=ls.trace.gz))
	@sh bench/record.sh $(RECORDER) '$(out)'
# Unexpanded: a $ in it is the shell's.
record: override export cmd := $(value cmd)
record: export program := $(program)
record: export all := $(all)

.PHONY: test-record
test-record: $(RECORDER) $(B)/record/record_program $(B)/lib5-boundary-tags.so ## the recorder: programs whose calls are known, threads, fork, exec
	@sh bench/record_test.sh $(RECORDER) $(B)/record/record_program $(B)/lib5-boundary-tags.so
