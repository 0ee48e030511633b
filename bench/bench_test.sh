#!/bin/sh
# bench_test.sh BUILD CC - is the benchmark right where it can be known?
# Times are never asserted: only counted calls, failures and verdicts, and that what it writes can be read.
set -u
build=$(realpath "$1") cc=$2
here=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

check() { # WHAT EXPECTED FOUND
    if [ "$2" = "$3" ]; then
        echo "ok      $1"
    else
        echo "FAILED  $1: expected $2, found $3"
        failures=$((failures + 1))
    fi
}

bench() {
    "$build/bench/bench" --build="$work" --csv="$work/out.csv" --json="$work/out.json" "$@" > "$work/out" 2>&1
    status=$?
}

cell() { # ALLOCATOR WORKLOAD COLUMN
    awk -F, -v a="$1" -v w="$2" -v column="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) c = i }
        $1 == a && $2 == w { print $c }' "$work/out.csv"
}

# The allocators under test: sound, and broken in malloc(1024), which of seq, fill and large only fill calls.
ln -s "$build/bench" "$work/bench"
broken() { # NAME STATEMENT
    $cc -std=c11 -O1 -fno-builtin -I"$here/../common" -fPIC -shared -fvisibility=hidden -DBROKEN="$2" \
        "$here/broken.c" "$here/../common/memory.c" -o "$work/lib$1.so" || exit 1
}
broken sound ''
broken null 'return NULL'
broken crash '*(volatile int *)0 = 0'
broken hang 'for (;;) (void)*(volatile size_t *)&bytes'

# A cell that fails is told, and costs no other cell.
bench --only=seq,fill,large --rounds=1 --limit=1 sound null crash hang harness
check "status with failed cells" 1 $status
for a in sound null crash hang harness system; do
    for w in seq large; do
        check "$a on $w is measured" 1 "$(cell $a $w rounds)"
    done
done
check "sound on fill" "too few rounds" "$(cell sound fill verdict)"
check "malloc that returns NULL" failed "$(cell null fill verdict)"
check "malloc that crashes" SEGV "$(cell crash fill verdict)"
check "malloc that hangs" timeout "$(cell hang fill verdict)"
check "why in words" 3 "$(grep -cE '^(null|crash|hang) on fill: (malloc returned NULL|Seg|stopped after 1 s)' "$work/out")"

# The calls of each workload, counted from its description.
bench --dry-run sound
check "status of a dry run" 0 $status
check "calls of seq" 20000 "$(cell sound seq calls)"
check "calls of fill" 20000 "$(cell sound fill calls)"
check "calls of large" 200 "$(cell sound large calls)"
check "calls of frag" 3000 "$(cell sound frag calls)"
check "calls of realloc" 5000 "$(cell sound realloc calls)"
check "calls of holes" 15000 "$(cell sound holes calls)"
check "calls of buffers" 1026 "$(cell sound buffers calls)"
for w in random mixed mixed8k; do
    check "$w is the same for everybody" "$(cell system $w calls)" "$(cell sound $w calls)"
done
check "lines of the CSV" 21 "$(wc -l < "$work/out.csv")"

# A library given by its path is a peer like any other.
bench --dry-run --only=seq --peers="jemalloc,mine=$work/libsound.so" sound
check "a peer given by its path" "0 1" "$status $(cell mine seq rounds)"

# Enough rounds for a verdict, and the one that is known beforehand.
bench --only=seq,frag --rounds=8 sound
check "8 rounds give a verdict" 0 "$(grep -c 'too few' "$work/out.csv")"
check "the system beside itself" "no difference seen" "$(cell system seq verdict)"

# Two runs compared. Known results: a's interval moves beyond the old one, b's overlaps it, c had too few rounds.
results() { # RATIO_A LOW HIGH RATIO_B LOW HIGH
    echo "allocator,workload,rounds,calls,ms,ms_low,ms_high,ns_per_call,ratio,ratio_low,ratio_high,verdict"
    echo "system,seq,8,20000,1,0.9,1.1,50,1,1,1,no difference seen"
    echo "a,seq,8,20000,1,0.9,1.1,50,$1,$2,$3,slower"
    echo "b,seq,8,20000,1,0.9,1.1,50,$4,$5,$6,slower"
    echo "c,seq,3,20000,1,nan,nan,50,2,nan,nan,too few rounds"
}
results 2 1.8 2.2 2 1.8 2.2 > "$work/old.csv"
results 4 3.8 4.2 2.3 2.1 2.5 > "$work/new.csv"
"$build/bench/bench" --old="$work/old.csv" --new="$work/new.csv" > "$work/out"
check "what changed between two runs" "system 1.00~ a 2.00 b 1.15~ c 1.00?" \
    "$(awk '/^(system|a|b|c) / { printf "%s%s %s", separator, $1, $2; separator = " " }' "$work/out")"
# A machine that is slower now is told.
results 2 1.8 2.2 2 1.8 2.2 | sed '/^system/s/,1,0.9,1.1,/,1.5,1.4,1.6,/' > "$work/new.csv"
check "the machine has changed" 1 \
    "$("$build/bench/bench" --old="$work/old.csv" --new="$work/new.csv" | grep -c 'took 1.50 times as long')"

compare() {
    "$build/bench/bench" --old="$work/old.csv" --new="$work/new.csv" > "$work/out" 2>&1
    status=$?
}
compares() { # WHAT EXPECTED: the last word on old.csv and new.csv
    compare
    check "$1" "$2" "$(sed "s|$work/||g" "$work/out" | grep -E 'compared|name|measure again' | head -n 1)"
}
echo "no result" > "$work/old.csv"
compares "a file that is no result" "old.csv:1: not a result; name a CSV file that make bench wrote"
{ results 1 1 1 1 1 1; echo "b,seq,8"; } > "$work/old.csv"
compares "a damaged line" "old.csv:6: damaged: there should be 12 fields; measure again"
check "status with a damaged line" 2 $status

# What is counted: any difference is a change. What is timed: only where the intervals do not meet.
counts() { # SEARCHED HARNESS: 5 calls
    echo "allocator,workload,calls,counter,amount"
    printf 'a,seq,5,instructions,%s\nb,seq,5,instructions,200\nharness,seq,5,instructions,%s\n' "$@"
}
counts 1000 100 > "$work/old.csv"
counts 1005 100 > "$work/new.csv"
compares "instructions" "3 compared: 0 less now, 1 more now, 2 without a change seen."
check "without the harness's own" "a seq: instructions 180 181 1.01" "$(awk '$1 == "a" { $1 = $1; print }' "$work/out")"
traces() { # LOW MEDIAN HIGH UTILISATION
    echo "trace,allocator,calls,peak_payload_bytes,rounds,mops,heap_bytes,utilisation,heap_is,failure,ratio,ratio_low,ratio_high"
    echo "lua,stage 5,9,9,6,1,9,$4,exact,,$2,$1,$3"
    echo "lua,system,9,9,6,1,9,0.7,resident,,1,1,1"
    echo "lua,slow,9,9,6,nan,9,nan,resident,>10 s,nan,nan,nan"
}
traces 1.8 2 2.2 0.5 > "$work/old.csv"
traces 1 1.1 1.3 0.5 > "$work/new.csv"
compares "traces" "3 compared: 1 less now, 0 more now, 1 without a change seen, 1 without a verdict: too few rounds; type rounds=6."
traces 1.3 1.5 1.9 0.4 > "$work/new.csv"
compares "traces, in a worse heap" "3 compared: 0 less now, 1 more now, 1 without a change seen, 1 without a verdict: too few rounds; type rounds=6."
classics() { # FACTOR: of 8 rounds, in each of which the machine is slower
    echo "comparison,allocator,variant,part,count,nanoseconds"
    for round in 1 2 3 4 5 6 7 8; do
        echo "small,system,malloc/free,kept,10,$((100 * round))"
        echo "small,a,malloc/free,kept,10,$(($1 * round))"
    done
}
classics 200 > "$work/old.csv"
classics 201 > "$work/new.csv"
compares "classics, paired by round" "1 compared: 0 less now, 1 more now, 0 without a change seen."
counts 1000 100 > "$work/old.csv"
compares "two suites" "old.csv is of the suite instructions, new.csv of classics; name two of the same suite"

# Another suite's CSV as JSON has the same header.
if command -v jq > /dev/null; then
    "$build/bench/bench" --title=classics --rows="$work/new.csv" --json="$work/rows.json" --commit=abc > "$work/out"
    check "a suite's JSON" "classics abc 16 8" \
        "$(jq -r '[.suite, .commit, (.rows | length), (.rows[15].nanoseconds / 201)] | join(" ")' "$work/rows.json")"
fi

# Counted work against what is recorded: 2 % more is let pass, 3 % is not, nor is work where there was none.
recorded() { # SEARCHED COPIED INSTRUCTIONS
    printf 'a,seq,100,searched,%s\na,seq,100,copied,%s\na,seq,100,instructions,%s\nharness,seq,100,instructions,500\n' "$@"
}
recorded 1000 0 1500 > "$work/old.csv"
compared() { # SEARCHED COPIED INSTRUCTIONS
    recorded "$@" > "$work/new.csv"
    awk -f "$here/recorded.awk" "$work/old.csv" "$work/new.csv" > "$work/out"
    echo $?
}
check "counted work as recorded" 0 "$(compared 1020 0 1520)"
check "3 % more searched" 1 "$(compared 1030 0 1500)"
check "copying where there was none" 1 "$(compared 1000 1 1500)"
check "3 % more instructions, without the harness" 1 "$(compared 1000 0 1530)"
check "less work" 0 "$(compared 900 0 1400)"

# JSON: a reader of its own, if one is installed.
if command -v jq > /dev/null; then
    check "samples of sound in the JSON" 8 \
        "$(jq '.cells[] | select(.allocator == "sound" and .workload == "seq") | .ns_by_round | length' "$work/out.json")"
    check "the median of the samples in the JSON" true "$(jq '.cells[] | select(.allocator == "sound" and .workload == "seq") |
        ((.ns_by_round | sort | (.[3] + .[4]) / 2e6) - .milliseconds.median) | fabs < 1e-9' "$work/out.json")"
else
    echo "skipped the JSON: no jq here; type: apt-get install jq"
fi

# Wrong options are answered in one line.
wrong() { # EXPECTED ARGUMENT
    bench "$2"
    check "$2" "2 $1" "$status $(cat "$work/out")"
}
wrong "rounds=0 is not a number from 1 to 1000; type for instance rounds=20" --rounds=0
wrong "only=foo does not exist; pick from: seq random fill large frag realloc mixed holes buffers mixed8k" --only=foo
wrong "peers=foo does not exist; pick from: all jemalloc mimalloc tcmalloc tbbmalloc musl NAME=PATH.so" --peers=foo
wrong "peers=x=none.so: there is no file none.so; type peers=NAME=PATH.so, with the path of a malloc" --peers=x=none.so
self=$(realpath "$0")
wrong "peers=x=$self: $self: invalid ELF header" "--peers=x=$self"
wrong "--foo is unknown; type make help for what can be asked of the benchmark" --foo

# Several threads: a malloc that crashes on the sizes that only larson asks for costs no other cell.
$cc -std=c11 -fPIC -shared -x c -o "$work/liblarson.so" - << 'END' || exit 1
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
void *malloc(size_t bytes)
{
    if (bytes > 256 && bytes <= 512)
        abort();
    return ((void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"))(bytes);
}
END
threads() {
    "$build/bench/threads" --build="$work" --csv="$work/out.csv" --milliseconds=20 "$@" > "$work/out" 2>&1
    status=$?
}
threads --rounds=1 larson
check "threads: status with a failed cell" 1 $status
check "threads: the signal in the table" 1 "$(grep -c '^larson  *ABRT ' "$work/out")"
check "threads: the cells measured" "larson 3 system 4" \
    "$(awk -F, 'NR > 1 && $5 > 0 { n[$1]++ } END { print "larson", n["larson"], "system", n["system"] }' "$work/out.csv")"
threads --threads=3
check "threads=3" "2 threads=3 is not an even number from 2 to 64; type for instance threads=2" "$status $(cat "$work/out")"

# Interrupted: what was measured is printed and kept.
if command -v timeout > /dev/null; then
    timeout --preserve-status -s INT 3 "$build/bench/bench" --build="$work" --csv="$work/out.csv" --only=seq harness > "$work/out" 2>&1
    check "status after Ctrl-C" 130 $?
    check "the table after Ctrl-C" 1 "$(grep -c '^Warning: interrupted' "$work/out")"
    check "rounds kept after Ctrl-C" kept "$([ "$(cell harness seq rounds)" -gt 0 ] && echo kept)"
    timeout --preserve-status -s INT 2 "$build/bench/threads" --build="$work" --csv="$work/out.csv" --rounds=1000 > "$work/out"
    check "threads: status after Ctrl-C" 130 $?
    check "threads: the table after Ctrl-C" 1 "$(grep -c '^Warning: interrupted' "$work/out")"
    check "threads: samples kept after Ctrl-C" kept "$([ "$(wc -l < "$work/out.csv")" -gt 1 ] && echo kept)"
fi

[ $failures = 0 ] || { echo "bench_test: $failures failed" >&2; exit 1; }
