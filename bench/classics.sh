#!/bin/sh
# The classics: runs them on every allocator, keeps the raw times as CSV, prints the tables.
#
#     STAGES='NAME...' bench/classics.sh FOLDER ROUNDS LISTS|SMALL|ZEROED...    FOLDER: what make built
#
# A round runs each allocator once, so that what slows the machine for a while slows them all.
set -eu

PATH=$PATH:/usr/sbin:/sbin # ldconfig
folder=$1 rounds=$2
shift 2
csv=$folder/bench/classics.csv

# Name and library of each allocator, a line each; the system's has no library.
allocators()
{
    echo system
    for stage in $STAGES; do
        echo "$stage $(realpath "$folder/lib$stage.so")"
    done
    for peer in jemalloc.so.2 mimalloc.so.2 tcmalloc_minimal.so.4 tbbmalloc_proxy.so.2; do
        library=$(ldconfig -p 2> /dev/null | awk -v name="lib$peer" '$1 == name { print $NF; exit }')
        [ -z "$library" ] || echo "${peer%%[._]*} $library"
    done
}

# One comparison in C, on every allocator.
on_all()
{
    allocators | while read -r name library; do
        LD_PRELOAD=$library "$folder/bench/classics" "$1" "$name" ${library:+"$library"}
    done
}

in_cxx()
{
    for kind in kept optimised; do
        [ ! -x "$folder/bench/$1-$kind" ] || "$folder/bench/$1-$kind"
    done
}

machine()
{
    model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2> /dev/null | head -n 1)
    libc=$(getconf GNU_LIBC_VERSION 2> /dev/null || echo "unknown C library")
    commit=$(git describe --always --dirty 2> /dev/null || echo unknown)
    echo "# ${model:-$(uname -m)}, $(uname -sr), $libc; $(date +%F), commit $commit; rounds: $rounds"
}

{
    machine
    echo "comparison,allocator,variant,part,count,nanoseconds"
} > "$csv"

for comparison; do
    round=0
    while [ "$round" -lt "$rounds" ]; do
        round=$((round + 1))
        [ ! -t 2 ] || printf '\r%s: round %d of %d ' "$comparison" "$round" "$rounds" >&2
        case $comparison in
        lists)
            on_all lists
            "$folder/bench/classics" chunks system
            # glibc that never gives the end of its heap back; another C library ignores the variable.
            MALLOC_TRIM_THRESHOLD_=1000000000 "$folder/bench/classics" chunks untrimmed
            ;;
        small)
            in_cxx small_objects
            on_all small
            ;;
        zeroed)
            in_cxx zeroed
            on_all zeroed
            ;;
        esac
    done >> "$csv"
    [ ! -t 2 ] || printf '\r%40s\r' '' >&2
done

awk -f bench/classics.awk "$csv"
echo
echo "raw times: $csv"
