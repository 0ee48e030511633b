#!/bin/sh
# Commit each crime of client_crimes.c over each stage, once as AddressSanitizer watches and once as Valgrind does:
# both must report it, at its line, and must have nothing to say of a program that commits none.
# Usage: tests/guard.sh FOLDER STAGE...
set -u
dir=$1
shift
failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fail() {
    echo "guard: $*" >&2
    head -20 "$out" >&2
    failed=1
}

# The function that commits the crime must be named in the report.
for stage; do
    told=0
    for crime in none use_after_free write_after_free overrun underrun overrun_after_realloc use_after_realloc; do
        ASAN_OPTIONS=detect_leaks=0 timeout 60 "$dir/client-$stage" $crime > "$out" 2>&1
        status=$?
        if [ $crime = none ]; then
            [ $status -eq 0 ] && [ "$(cat "$out")" = lived ] || fail "$stage: ASan is not content with a program without a crime"
        else
            [ $status -ne 0 ] && grep -q 'AddressSanitizer: use-after-poison' "$out" && grep -q "#0 .* in $crime" "$out" ||
                fail "$stage: ASan does not report $crime"
        fi
        told=$((told + 1))
        command -v valgrind > /dev/null || continue
        LD_PRELOAD=$(realpath "$dir/lib$stage.so") timeout 60 valgrind -q --error-exitcode=9 \
            --soname-synonyms=somalloc=nouserintercepts "$dir/client" $crime > "$out" 2>&1
        status=$?
        if [ $crime = none ]; then
            [ $status -eq 0 ] && [ "$(cat "$out")" = lived ] || fail "$stage: Valgrind is not content with a program without a crime"
        else
            [ $status -eq 9 ] && grep -q 'Invalid \(read\|write\) of size 1' "$out" && grep -q "at .*: $crime (" "$out" &&
                grep -q 'a.* block of size 100' "$out" || fail "$stage: Valgrind does not report $crime"
        fi
        told=$((told + 1))
    done
    echo "$stage: $told runs, as expected"
done
command -v valgrind > /dev/null || echo "guard: skipped Valgrind, which is not installed; make setup brings it"
exit $failed
