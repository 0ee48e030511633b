#!/bin/bash
# replay.sh BUILD CC OBJECTS... - proves replay, shrink and exhaustive on stages that are broken on purpose
# (broken.c): each kind of failure is found and named, 10,000 operations shrink to a few, and the C program that is
# printed fails just as the trace does, but not on the sound stage. Called by make test-replay.
set -u
dir=$1/test-replay
cc=$2
objects=$1/engine
shift 2
others=("$@")
sound=stages/3-no-validation/mm.c # the one in broken.c
mkdir -p "$dir"
failed=0

bad() {
    echo "failed  $*" >&2
    failed=$((failed + 1))
}

# Compile the C program with the command in its first comment, perhaps on another stage; then run it.
run_program() {
    local command
    command=$(sed -n '1s|^// ||p' "$dir/fail.c")
    command="${command%-o build/fail && build/fail} -o $dir/fail"
    bash -c "${command/ $dir\/mm.c / $1 }" > "$dir/errors" 2>&1 || { bad "does not compile: $command"; return 2; }
    bash -c 'ulimit -c 0; ulimit -t 1; "$0"; exit $?' "$dir/fail" > "$dir/errors" 2>&1
}

# Build a program on the stage that is broken in this way.
build() {
    printf '#define BROKEN %s\n#include "%s/tests/broken.c"\n' "$1" "$PWD" > "$dir/mm.c"
    rm -f "$dir"/fail*
    $cc -std=c11 -g -Icommon -DMM_STAGE_FILE="\"$dir/mm.c\"" "$dir/mm.c" tests/stage_file.c "$objects/$2.o" \
        "${others[@]}" -o "$dir/$2" || bad "$1 does not build"
}

# A kind of mistake in broken.c, words that the report must say, and the most operations that may be left.
try() {
    local kind=$1 words=$2 most=$3 left before=$failed
    build "$kind" replay
    "$dir/replay" shrink "$dir/random.trace" save="$dir/fail" > "$dir/out" 2>&1
    [ $? -eq 1 ] || { bad "$kind: shrink does not find it"; return; }
    grep -q -- "$words" "$dir/out" || bad "$kind: the report does not say: $words"
    left=$(wc -l < "$dir/fail.trace")
    [ "$left" -le "$most" ] || bad "$kind: $left operations are left, more than $most"
    run_program "$dir/mm.c"
    [ $? -gt 2 ] || bad "$kind: the program does not fail"
    run_program $sound || bad "$kind: the program fails on the sound stage"
    [ "$failed" -eq "$before" ] && echo "ok      $kind, $left operations left"
}

# The same for exhaustive: it finds the mistake in so many operations.
try_exhaustive() {
    build "$1" exhaustive
    "$dir/exhaustive" 4 "$dir/fail" > "$dir/out" 2>&1
    [ $? -eq 1 ] || { bad "exhaustive does not find $1"; return; }
    grep -q "fails on a sequence of $2 operations" "$dir/out" || bad "exhaustive: $1 should fail in $2 operations"
    echo "ok      exhaustive, $1"
}

# On a sound stage first: nothing to find.
"$objects/3-no-validation/replay" random 3 10000 > "$dir/random.trace"
"$objects/3-no-validation/replay" replay "$dir/random.trace" > "$dir/out" || bad "the sound stage fails"

try BREAKS_INVARIANT 'I4 does not hold: said so by tests/broken.c' 6
try DAMAGES 'byte 0 of [0-9]* in the payload of id [0-9]* has changed' 3
try LOSES_BYTES 'realloc must keep the first [0-9]* bytes of id [0-9]*, but byte 15 has changed' 3
try DIRTIES 'that calloc returned is 0x01, not zero' 1
try OVERLAPS 'it returned memory that is still in use' 2
try MISALIGNS 'which is not aligned to 16' 1
try WRITES_BEYOND 'the stage wrote past the end of the heap' 1
try LEAVES_HEAP 'are not inside the heap' 1
try IS_SMALL 'malloc_usable_size says that id [0-9]* has [0-9]* bytes' 1
try REFUSES 'it returned NULL, but the memory source refused nothing' 1
try WRONG_ERRNO 'errno is 22 (Invalid argument), not ENOMEM' 1
try LEAKS 'is used, but no id has it: it was lost' 2
try REPORTS 'ended in the report of a misuse, though there was none' 2
try CRASHES 'crashed with SIGSEGV' 2
try HANGS 'did not end within .* an endless loop?' 1
try_exhaustive LEAKS 2
try_exhaustive CRASHES 2
try_exhaustive LOSES_BYTES 3
[ "$failed" -eq 0 ]
