#!/bin/sh
# Proves the grader: a finished stage gets all points, and each way to cheat, crash or hang gets its due and spoils nothing.
# Usage: tests/grade.test.sh KIT STAGE-FOLDER...
set -u
kit=$1
shift
command -v parallel > /dev/null || { echo "test-grade: skipped, no GNU parallel; apt-get install parallel brings it"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
failed=0
bad() {
    echo "test-grade: $*" >&2
    failed=1
}

# ---- The finished stages ----

for stage; do
    n=${stage%%-*}
    tests/grade.py one --quiet --kit "$kit" --stage "$n" --format text --out "$dir/full" "stages/$stage/mm.c"
    head -n 1 "$dir/full" | grep -q ' 100 of 100 points' || { bad "$stage does not get all points"; cat "$dir/full" >&2; }
done

if [ -n "${finished_only:-}" ]; then
    [ $failed -eq 0 ] && echo "grade: the finished stages get all points: $*"
    exit $failed
fi

# ---- A class, graded as stage 3 where there is one, else as the last ----

last=
for stage; do
    case $last in 3-*) ;; *) before=$last last=$stage ;; esac
done
n=${last%%-*}
good=stages/$last/mm.c class=$dir/class
mkdir "$class"
add() { mkdir "$class/$1" && cat > "$class/$1/mm.c"; }
# The finished stage, with something at the start of malloc, or before everything.
in_malloc() { sed "/^static void \*mm_malloc/,/^{/s/^{/{ $1/" "$good"; }
with() { printf '%s\n' "$1"; cat "$good"; }

cp "$good" "$class/finished.c"
[ -z "$before" ] || sed "s/^    \.stage = .*/    .stage = $n,/" "stages/$before/mm.c" | add unchanged
sed '/count(&mm_counts.\(searched\|validated\)/d' "$good" | add no-counting
# Looks at every block, and does not count it.
in_malloc 'for (struct block *b = first_block(); b != NULL; b = next_block(b)) if (b == (void *)heap_start) break;' | add hidden-work
sed "s/^    \.stage = .*/    .stage = $((n + 1)),/" "$good" | add other-stage
echo 'this is not C' | add no-C
in_malloc 'if (payload_bytes == 100) *(volatile int *)8 = 1;' | add crashes
in_malloc 'for (volatile int i = 1; i;) ;' | add hangs
in_malloc 'while (memory_grow(1 << 20)) ;' | add takes-all-memory
with '#include <stdlib.h>
__attribute__((constructor)) static void leave(void) { exit(0); }' | add leaves
with '#include <unistd.h>
static void bomb(void) { for (;;) fork(); }' | sed '/^static void \*mm_malloc/,/^{/s/^{/{ bomb();/' | add forks
with '#include <stdio.h>
static void fake(void) { puts("<testsuites>"); FILE *f = fopen("results.json", "w"); if (f) fputs("{\"score\": 100}", f); }' |
    sed '/^static void \*mm_malloc/,/^{/s/^{/{ fake();/' | add fakes
in_malloc '__asm__ volatile("syscall" : : "a"(60), "D"(0) : "rcx", "r11", "memory");' | add calls-the-system
{ cat "$good"; echo 'void lab_require(bool holds, const char *format, ...) { (void)holds; (void)format; }'; } | add replaces-a-check
with '#include "/etc/passwd"' | add reads-files
with '#include "/dev/zero"' | add reads-for-ever
mkdir "$class/links" && ln -s /etc/passwd "$class/links/mm.c"

kit=$kit out=$dir/out seconds=${SECONDS_EACH:-90} jobs='' parallel='' tests/grade.class.sh "$class" "$n" > "$dir/said" 2>&1 ||
    bad "make grade-class failed"
cat "$dir/said"

score() { awk -F, -v name="$1" '$1 == name { print $2 }' "$dir/out/grades.csv"; }
# A score between two bounds, and a word that the student must find in the results.
expect() {
    got=$(score "$1")
    awk -v got="$got" -v least="$2" -v most="$3" 'BEGIN { exit !(got != "" && got + 0 >= least && got + 0 <= most) }' ||
        bad "$1: ${got:-no} points, not $2 to $3"
    grep -q "$4" "$dir/out/$1.json" || bad "$1: its results do not say '$4'"
}
expect finished 100 100 '"passed"'
[ -z "$before" ] || expect unchanged 30 60 'calls_validate_nothing'
expect no-counting 30 60 'do not tell the truth'
expect hidden-work 30 60 'do not tell the truth'
expect other-stage 1 60 'do not tell the truth'
expect no-C 0 0 'does not compile'
expect crashes 20 95 'crashed'
expect hangs 0 20 'endless loop\|time was up'
expect takes-all-memory 0 30 'failed'
expect leaves 0 0 'uses exit'
expect forks 0 0 'uses fork'
expect fakes 0 0 'uses fopen'
expect calls-the-system 0 0 'calls the system by itself'
expect replaces-a-check 0 0 'defines lab_require'
expect reads-files 0 0 'does not compile'
expect reads-for-ever 0 0 'does not compile'
expect links 0 0 'not a plain file'
grep -rq 'root:' "$dir/out" && bad "a submission read a file of the grader's"

# The same to the digit.
tests/grade.py one --quiet --kit "$kit" --stage "$n" --seconds "${SECONDS_EACH:-90}" --out "$dir/again" "$class/crashes/mm.c"
cmp "$dir/again" "$dir/out/crashes.json" || bad "graded twice, the results differ"

# ---- Formats ----

format() { tests/grade.py one --quiet --kit "$kit" --stage "$n" --format "$1" "$class/no-C/mm.c"; }
format gradescope | python3 -c 'import json, sys; r = json.load(sys.stdin); assert r["score"] == 0 and r["tests"][0]["status"] == "failed"' ||
    bad "gradescope: not as documented"
format autolab | tail -n 1 | python3 -c 'import json, sys; r = json.load(sys.stdin); assert r["scores"]["goal"] == 0 and r["scoreboard"] == [0]' ||
    bad "autolab: the last line is not as documented"
format junit | python3 -c 'import sys, xml.etree.ElementTree as e; r = e.parse(sys.stdin).getroot(); assert r.get("tests") == r.get("failures") != "0"' ||
    bad "junit: not as documented"

# ---- The box itself, should a submission get past the rules of tests/grade.sh ----

inside() { timeout 60 tests/grade.py box bash -c "$1" 2>&1; }
if tests/grade.py box | grep -q 'not shut in'; then
    echo "test-grade: the box not tested: $(tests/grade.py box)"
else
    inside 'tail -n +3 /proc/net/dev | grep -v lo:' && bad "the box has a network"
    inside 'head -c 100M /dev/zero > a; for i in $(seq 4); do head -c 31M /dev/zero > b$i; done' > "$dir/full"
    grep -q 'No space left' "$dir/full" || bad "the box has a disk without end"
    inside 'for i in $(seq 200); do sleep 5 & done' | grep -q 'unavailable' || bad "the box has processes without end"
    inside 'echo tampered > /in/tampered; echo tampered > /tampered' | grep -c 'Read-only' | grep -qx 2 || bad "the box can be written to"
    inside "ls '$PWD' '$dir' $HOME" | grep -q 'mm.c\|class\|Makefile' && bad "the box shows files of the grader's"
    inside 'kill -9 -1; echo' > /dev/null
    inside 'ps ax 2> /dev/null || ls /proc' | grep -q "^ *$$\b" && bad "the box shows the grader's processes"
fi

[ $failed -eq 0 ] && echo "test-grade: all as it should be"
exit $failed
