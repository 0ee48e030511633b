#!/bin/sh
# trace_test.sh BUILD CC - the traces suite: foreign files, limits, scores, and that the hard traces are hard.
set -u
build=$1 cc=$2
here=$(dirname "$0")
bench="$build/bench/trace_bench --build=$build"
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

holds() { # WHAT CONDITION VALUES: an awk condition on a, b and c
    check "$1" true "$(echo "$3" | awk '{ a = $1; b = $2; c = $3; print ('"$2"') ? "true" : "false: " $0 }')"
}

column() { # TRACE ALLOCATOR COLUMN, of the CSV file
    awk -F, -v trace="$1" -v allocator="$2" -v column="$3" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) k = i }
        $1 == trace && $2 == allocator { print $k }' "$work/csv"
}

# Each format, and what real files do: sizes left out, ids that were never allocated, sizes that no machine
# has.
printf '20000\n3\n7\n1\na 0 512\na 1 128\nr 0 640\na 2 4503599627370496\nf 1\nf -1\nf 0\n' \
    > "$work/classic.rep"
printf '2 3 6 1\na 0 512 a 1\nr 0 640\nr 5 100\nf 1\nf 0\n' > "$work/newer.rep"
printf '# comment\n\na 0 512\na 1 128\nr 0 640\nf 1\nf 9\n' | gzip > "$work/packed.script.gz"
$bench --dry-run --csv="$work/csv" --json="$work/json" 5-boundary-tags system -- \
    "$work/classic.rep" "$work/newer.rep" "$work/packed.script.gz" > "$work/out" 2>&1
check "foreign files: status" 0 $?
check "classic: the operation that must fail is left out" 6 "$(column classic system calls)"
check "classic: peak payload" 768 "$(column classic system peak_payload_bytes)"
check "newer: a size left out, an id never allocated" 1252 "$(column newer system peak_payload_bytes)"
check "packed script: peak payload" 768 "$(column packed 'stage 5' peak_payload_bytes)"
holds "a stage's heap is known exactly" 'a == "exact" && b > 768' \
    "$(column packed 'stage 5' heap_is) $(column packed 'stage 5' heap_bytes)"
check "a dry run says so" 1 "$(grep -c 'Warning: a dry run' "$work/out")"

echo 'no number' > "$work/bad.rep"
said=$($bench 5-boundary-tags -- "$work/bad.rep" 2>&1)
check "a damaged file: status" 2 $?
check "a damaged file: where" 1 "$(echo "$said" | grep -c "^$work/bad.rep:1: ")"
said=$($bench --only='classic nonesuch' 5-boundary-tags -- "$work/classic.rep" 2>&1)
check "an unknown name: status" 2 $?
check "an unknown name: which" 1 "$(echo "$said" | grep -c 'only=nonesuch')"

# The generated traces, on the exact heaps: the same on every machine.
$bench --dry-run --csv="$work/csv" 3-no-validation 4-size-classes 5-boundary-tags system -- \
    "$build"/traces/*.trace > "$work/out" 2>&1
check "generated traces: status" 0 $?
holds "splinters: the list of stage 3 needs half as much again as the classes of stage 4" 'a > 1.5 * b' \
    "$(column splinters 'stage 3' heap_bytes) $(column splinters 'stage 4' heap_bytes)"
holds "robson: stage 5 comes down to Robson's bound, a fifth" 'a > 0.19 && a < 0.21' \
    "$(column robson 'stage 5' utilisation)"
# The formulas, from the mean utilisation: the system's speed is its own reference.
u=$(awk -F, '$2 == "system" { sum += $8; ln += log($8); n++ }
    END { print 100 * sum / n, 100 * exp(ln / n / 2) }' "$work/csv")
scores=$(awk '$1 == "system" && $2 ~ /\// { print $(NF - 2), $NF }' "$work/out")
holds "classic score of the system" 'a - 40 - 0.6 * b < 0.06 && 0.6 * b + 40 - a < 0.06' \
    "${scores% *} ${u% *}"
holds "geometric score of the system" 'a - b < 0.06 && b - a < 0.06' "${scores#* } ${u#* }"

# An allocator that fails costs its own cells, and is told.
broken() { # NAME STATEMENT, which malloc(1024) starts with
    $cc -std=c11 -O1 -fno-builtin -I"$here/../common" -fPIC -shared -fvisibility=hidden -DBROKEN="$2" \
        "$here/broken.c" "$here/../common/memory.c" -o "$work/lib$1.so" || exit 1
}
ln -s "$(realpath "$build/bench")" "$work/bench"
broken null 'return NULL'
broken crash '*(volatile int *)0 = 0'
broken hang 'for (;;) (void)*(volatile size_t *)&bytes'
printf 'a 0 1024\nf 0\n' > "$work/fails.trace"
printf 'a 0 64\nf 0\n' > "$work/passes.trace"
"$build/bench/trace_bench" --build="$work" --limit=1 --rounds=1 --csv="$work/csv" null crash hang system -- \
    "$work/fails.trace" "$work/passes.trace" > "$work/out" 2>&1
check "broken allocators: status" 0 $?
check "malloc that returns NULL" NULL "$(column fails null failure)"
check "malloc that returns NULL: where" 1 "$(grep -c "^null on fails: $work/fails.trace:1: " "$work/out")"
check "malloc that crashes" SEGV "$(column fails crash failure)"
check "malloc that hangs" '>1 s' "$(column fails hang failure)"
check "malloc that hangs: said" 1 "$(grep -c '^hang on fails: more than 1 s: stopped after' "$work/out")"
for a in null crash hang system; do
    check "$a on what it can" '' "$(column passes $a failure)"
    holds "$a on what it can: measured" 'a > 0' "$(column passes $a mops)"
done

[ $failures -eq 0 ]
