#!/bin/sh
# counts.sh FOLDER counts|instructions CSV NAME... - counted work of stages; instructions also of the limits, the system's
# malloc and the harness. Prints the tables if TABLES is set; $BUILT_BY says what instructions depend on.
set -eu
folder=$1 suite=$2 csv=$3
shift 3
. bench/suite.sh

begin "$csv" allocator,workload,calls,counter,amount
[ $suite = counts ] || sed -i "1i # $BUILT_BY" "$csv.new"
steps=0
for name; do
    [ -z "$stopped" ] || break
    progress $steps $# "$name"
    if [ $suite = counts ]; then
        "$folder/count/$name/counts" "$name"
    else
        sh bench/instructions.sh "$folder" "$name"
    fi >> "$csv.new" || failed=1
    steps=$((steps + 1))
done
clear_progress
mv "$csv.new" "$csv"
[ -n "${TABLES-}" ] || exit "${stopped:-${failed:-0}}"
publish $suite "$csv"
awk -f bench/per_call.awk "$csv"
[ $suite = counts ] || echo "- is left out: too many instructions for the short wait that valgrind's slowness makes long."
finish "$csv"
