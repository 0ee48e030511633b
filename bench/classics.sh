#!/bin/sh
# The classics: runs them on every allocator, keeps the raw times as CSV, prints the tables.
#
#     STAGES='NAME...' bench/classics.sh FOLDER CSV ROUNDS lists|small|zeroed...    FOLDER: what make built
#
# A round runs each allocator once, so that what slows the machine for a while slows them all.
set -eu

PATH=$PATH:/usr/sbin:/sbin # ldconfig
folder=$1 csv=$2 rounds=$3
shift 3
. bench/suite.sh

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

# One comparison in C, on every allocator. One that fails has no figures, and costs the others none.
on_all()
{
    allocators | {
        status=0
        while read -r name library; do
            LD_PRELOAD=$library "$folder/bench/classics" "$1" "$name" ${library:+"$library"} || status=1
        done
        return $status
    }
}

in_cxx()
{
    for kind in kept optimised; do
        [ ! -x "$folder/bench/$1-$kind" ] || "$folder/bench/$1-$kind" || return 1
    done
}

round_of() # COMPARISON
{
    case $1 in
    lists)
        on_all lists || return 1
        "$folder/bench/classics" chunks system
        # glibc that never gives the end of its heap back; another C library ignores the variable.
        MALLOC_TRIM_THRESHOLD_=1000000000 "$folder/bench/classics" chunks untrimmed
        ;;
    small)
        in_cxx small_objects || return 1
        on_all small
        ;;
    zeroed)
        in_cxx zeroed || return 1
        on_all zeroed
        ;;
    esac
}

need_number rounds "$rounds"
begin "$csv" comparison,allocator,variant,part,count,nanoseconds
steps=0
for comparison; do
    round=0
    while [ "$round" -lt "$rounds" ] && [ -z "$stopped" ]; do
        round=$((round + 1))
        progress $steps $(($# * rounds)) "$comparison: round $round of $rounds"
        round_of "$comparison" >> "$csv.new" || failed=1
        steps=$((steps + 1))
    done
done
clear_progress
mv "$csv.new" "$csv"

publish classics "$csv"
awk -f bench/classics.awk "$csv"
finish "$csv"
