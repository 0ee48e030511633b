#!/bin/sh
# growth.sh FOLDER CSV SECONDS STAGE... - runs growth.c on stages and the system's malloc, prints the tables.
set -eu
folder=$1 csv=$2 limit=$3
shift 3
. bench/suite.sh

# Times, and for a stage counted visits.
measure() # live|free NAME
{
    if [ "$2" = system ]; then
        "$folder/bench/growth" system system "$1" "$limit"
        return
    fi
    library=$(realpath "$folder/lib$2.so")
    LD_PRELOAD=$library "$folder/bench/growth" "$2" "$library" "$1" "$limit" &&
        "$folder/count/$2/growth" "$2" '' "$1" "$limit"
}

need_number limit "$limit"
begin "$csv" 'allocator,blocks_are,blocks,ns,visits,note'
steps=0
for kind in live free; do
    for name in "$@" system; do
        [ -z "$stopped" ] || break
        progress $steps $((2 * ($# + 1))) "$kind blocks: $name"
        measure $kind "$name" >> "$csv.new" || failed=1
        steps=$((steps + 1))
    done
done
clear_progress
mv "$csv.new" "$csv"
publish growth "$csv"
awk -f bench/growth.awk "$csv"
finish "$csv"
