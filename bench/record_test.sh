#!/bin/sh
# record_test.sh LIBRARY READER PROGRAM STAGE - what the recorder writes of programs whose calls are known.
set -u
library=$1 reader=$2 recorded=$(realpath "$3") stage=$(realpath "$4")
name=record_program # as ps shows it
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

record() { # MODE [all=1]
    cmd="$recorded $1" all=${2:-} program=$name \
        sh "$here/record.sh" "$library" "$reader" "$work/$1.trace" > "$work/$1.list"
    check "$1: recorder's status" 0 $?
}

count() { # FILE PATTERN
    grep -c "$2" "$work/$1"
}

# "valid", or the first line that frees what is not live or gives an id that is live.
validity() { # FILE
    awk '
        /^#/ { next }
        $1 == "f" && $2 != -1 && !($2 in live) { bad = 1 }
        $1 ~ /[acm]/ && ($2 in live) { bad = 1 }
        bad { print FILENAME ":" FNR ": " $0; exit }
        $1 == "f" || ($1 == "r" && $3 == 0 && $2 in live) { delete live[$2]; next }
        { live[$2] }
        END { if (!bad) print "valid" }' "$work/$1"
}

# The calls from that before main on, ids in order of appearance: what libc did before does not matter.
from_start() { # FILE
    awk '$3 == 1001 { on = 1 }
        on { if ($2 != -1) { if (!($2 in name)) name[$2] = n++; $2 = name[$2] } print }' "$work/$1"
}

record known
from_start known.trace > "$work/found"
cat > "$work/expected" <<END
a 0 1001
a 1 2001
f 0
a 0 0
f 0
c 0 3 70
m 2 64 640
m 3 4096 100
m 4 32 33
r 5 50
r 5 5000
r 5 21
a 6 10
f -1
f 0
f 3
r 2 0
f 4
f 5
f 6
f 1
END
check "known: every call, in order" "" "$(diff "$work/expected" "$work/found")"

cmd="$recorded killed" program=$name sh "$here/record.sh" "$library" "$reader" "$work/killed.trace" \
    > "$work/killed.list" 2> "$work/killed.said"
check "killed: the calls before the signal" 100000 "$(count killed.trace '^a [0-9]* 77$')"
check "killed: said" 1 "$(count killed.said 'status 137')"

record closed
check "closed: all files closed and another directory" 100000 "$(count closed.trace '^a [0-9]* 77$')"

record exec all=1
check "exec: after it" 100000 "$(count exec.trace '^a [0-9]* 77$')"
check "exec: images of the process" 2 "$(count exec.list record_program)"
# sh started first: the image before the exec is the second of the others.
check "exec: before it" 10 "$(cat "$work"/exec.[23].trace | grep -c '^a [0-9]* 77$')"

record threads
check "threads: every malloc" 200000 "$(count threads.trace '^a [0-9]* 1[0-9][0-9]$')"
check "threads: valid" valid "$(validity threads.trace)"
# Everything was freed: as many frees as blocks that the threads made.
live=$(awk '$1 == "a" && $3 >= 100 && $3 < 200 { live[$2] } $1 == "f" { delete live[$2] }
    END { n = 0; for (id in live) n++; print n }' "$work/threads.trace")
check "threads: every free" 0 "$live"

record forks all=1
child=$(grep -l '^a [0-9]* 3002$' "$work"/forks*.trace)
parent=$(grep -l '^a [0-9]* 3003$' "$work"/forks*.trace)
check "forks: processes" 2 "$(count forks.list record_program)"
check "forks: child is valid" valid "$(validity "$(basename "$child")")"
check "forks: parent is valid" valid "$(validity "$(basename "$parent")")"
check "forks: the child has what it inherited" 1 "$(count "$(basename "$child")" '^a [0-9]* 3001$')"
check "forks: the child's calls" 20000 "$(count "$(basename "$child")" '^a [0-9]* 77$')"
check "forks: not the parent's" 0 "$(count "$(basename "$parent")" '^a [0-9]* 77$')"

# A malloc of its own, here a stage in between: refused with a reason.
said=$(ALLOCLAB_RECORD=$work LD_PRELOAD="$(realpath "$library") $stage" "$recorded" known 2>&1)
check "own malloc: status" 2 $?
check "own malloc: said" 1 "$(echo "$said" | grep -c 'brings its own malloc')"

cmd="$recorded known" program=$name sh "$here/record.sh" "$library" "$reader" "$work/packed.trace.gz" \
    > "$work/list" 2>&1
check "compressed: the same" "" "$(gzip -dc "$work/packed.trace.gz" | diff - "$work/known.trace")"

[ $failures -eq 0 ]
