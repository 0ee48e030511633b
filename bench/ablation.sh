#!/bin/sh
# ablation.sh FOLDER CSV IDEAS OPTION... - times every idea with and without validation, prints the tables beside the
# counted work. FOLDER: what make built; in its folder ablation the libraries have the names of the ideas.
set -eu
folder=$1 csv=$2 ideas=$3
shift 3
. bench/suite.sh

names=
for idea in $ideas; do
    names="$names $idea+check $idea"
done
text=${csv%.csv}.txt
begin "$csv" ''
rm "$csv.new"
# shellcheck disable=SC2086 # a list of words
"$folder/bench/bench" --build="$folder/ablation" --title=ablation --csv="$csv" --json="${JSON:-${csv%.csv}.json}" \
    --commit="$COMMIT" --flags="$FLAGS" "$@" $names system > "$text" || [ -n "$stopped" ] || {
    cat "$text"
    exit 1
}
suite_json=${JSON:-${csv%.csv}.json}
sed '/^$/,$d' "$text"
awk -v ideas="$ideas" -f bench/ablation.awk "$folder/bench/ablation-counts.csv" "$csv"
sed -n '/^Warning/{/interrupted/d;s/make bench/& suite=ablation/;p;}' "$text"
echo "intervals and ranking: $text"
finish "$csv" "$folder/bench/ablation-counts.csv"
