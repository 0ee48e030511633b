#!/bin/sh
# space.sh FOLDER CSV SECONDS PEERS LOADS STAGE... -- TRACE... - runs space.c on stages, and the traces suite on the
# system's malloc and the peers for their resident memory; prints the tables. LOADS: whose heap is shown in parts.
set -eu
folder=$1 csv=$2 limit=$3 peers=$4 loads=$5
shift 5
. bench/suite.sh

stages=
while [ "$1" != -- ]; do
    stages="$stages $1"
    shift
done
shift

need_number limit "$limit"
begin "$csv" "$("$folder/space/${stages##* }")"
resident=${csv%.csv}-resident.csv
"$folder/bench/trace_bench" --build="$folder" --dry-run --csv="$resident" ${peers:+--peers="$peers"} system -- "$@" \
    > "${resident%.csv}.txt" || [ -n "$stopped" ] || exit 2

steps=0
for stage in $stages; do
    for trace; do
        [ -z "$stopped" ] || break
        progress $steps $(($(echo "$stages" | wc -w) * $#)) "$stage: ${trace##*/}"
        "$folder/space/$stage" "$stage" "$limit" "$trace" >> "$csv.new" || [ -n "$stopped" ] || failed=1
        steps=$((steps + 1))
    done
done
clear_progress
mv "$csv.new" "$csv"
publish space "$csv"
awk -v loads="$loads" -f bench/space.awk "$resident" "$csv"
finish "$csv" "$resident"
