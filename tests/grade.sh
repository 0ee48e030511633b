#!/bin/bash
# Builds and runs one submission inside its box; tests/grade.py starts it there, reads what it prints, and gives the points.
# Usage: tests/grade.sh KIT STAGE SECONDS MARK SUITE...   in a folder that holds mm.c and may be written to.
# Each part of the output starts with a line "MARK title". Nobody who does not know MARK can print one.
set -u
kit=$1 stage=$2 mark=$3
end=$((SECONDS + $4))
shift 4

part() { printf '\n%s %s\n' "$mark" "$*"; }

# What a stage may call: the memory source, the report of a misuse, and what touches nothing but memory.
MAY_CALL='memory|memory_grow|memory_refuse|mm_counts|mm_report_(fault|pointer)|mem(cpy|set|move|cmp|chr)|str(len|cmp|ncmp)'
MAY_CALL="$MAY_CALL|abort|__assert_fail|__errno_location|__stack_chk_fail|__tls_get_addr|_GLOBAL_OFFSET_TABLE_"
MAY_CALL="$MAY_CALL|pthread_(self|once|mutex_(lock|unlock|trylock|init)|key_create|[gs]etspecific)|sched_getcpu"
# No constructors, and no tests of its own.
MAY_HOLD='(\.rela?)?\.(text|data|bss|rodata|tdata|tbss|debug|comment|note|eh_frame|group)[A-Za-z0-9_.-]*'

# A stage is a data structure. One that can reach the system could end the tests, or write its own results.
broken_rules() {
    nm -u mm.o | awk '{ print $NF }' | grep -vxE "$MAY_CALL" | sed 's/.*/it uses &, which a stage may not/'
    nm -g --defined-only mm.o | awk '$3 != "mm_allocator" || $2 != "R" && $2 != "D" {
        print "it defines " $3 " for all to see; make it static: only the table mm_allocator is not" }'
    objdump -h mm.o | awk '$1 ~ /^[0-9]+$/ { print $2 }' | grep -vxE "$MAY_HOLD" |
        sed 's/.*/it has a section &, so code that runs by itself, or a test of its own; a stage may not/'
    objdump -d mm.o | grep -oE '\b(syscall|sysenter|svc|int +\$0x80)' | sort -u | sed 's/.*/it calls the system by itself: &/'
}

part build
timeout 60 "$(cat "$kit/cc")" -std=c11 -fno-builtin-{malloc,free,calloc,realloc} -I"$kit/common" -DMM_COUNT=1 -O2 -g \
    -c mm.c -o mm.o > build.log 2>&1
built=$?
head -c 4000 build.log
[ $built -eq 0 ] && [ -f mm.o ] || { part unbuilt; exit 0; }

rules=$(broken_rules 2>&1)
[ -z "$rules" ] || { part refused; head -c 4000 <<< "$rules"; exit 0; }

# shellcheck disable=SC2046 # words
"$(cat "$kit/cc")" mm.o "$kit"/tests/*.o "$kit"/shared/*.o -o suite $(cat "$kit/criterion") > build.log 2>&1 &&
    "$(cat "$kit/cc")" mm.o "$kit"/counts/*.o "$kit"/shared/*.o -o counts > build.log 2>&1 ||
    { head -c 4000 build.log; part unbuilt; exit 0; }

ln -s "$kit/top/tests" tests # the suite looks for tests/cases
run() { timeout -k 1 $((end > SECONDS ? end - SECONDS : 1)) "$@" 2> said.log < /dev/null; }
for suite; do
    GOAL=${suite#goal_} GRADE_STAGE=$stage LC_ALL=C run ./suite -j1 --color=never --filter "$suite/*" \
        --xml="$mark.xml" > /dev/null
    part suite "$suite"
    cat "$mark.xml" 2> /dev/null
    rm -f "$mark.xml"
done
run ./counts "$mark" > counts.csv
part counts
cat counts.csv
part end
