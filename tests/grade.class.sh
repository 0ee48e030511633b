#!/bin/sh
# Grades a folder of submissions in parallel: NAME/mm.c or NAME.c each.
# Usage: kit=DIR out=DIR [jobs=N] [seconds=S] [parallel=OPTIONS] tests/grade.class.sh SUBMISSIONS STAGE
set -u
submissions=$1 stage=$2
die() {
    echo "grade-class: $*" >&2
    exit 1
}
[ -d "$submissions" ] || die "no folder of submissions; type make grade-class submissions=DIR number=3"
case $stage in [1-9]) ;; *) die "which stage are they? Type make grade-class submissions=$submissions number=3" ;; esac
command -v parallel > /dev/null || die "it needs GNU parallel: apt-get install parallel"
mkdir -p "$out" || exit 1

list=$out/submissions.txt
for file in "$submissions"/*/mm.c "$submissions"/*.c; do
    [ -e "$file" ] || [ -L "$file" ] || continue
    case $file in */mm.c) name=$(basename "$(dirname "$file")") ;; *) name=$(basename "$file" .c) ;; esac
    printf '%s\t%s\n' "$name" "$file"
done > "$list"
[ -s "$list" ] || die "$submissions holds no NAME/mm.c and no NAME.c"
twice=$(cut -f 1 "$list" | sort | uniq -d | head -n 1)
[ -z "$twice" ] || die "$submissions has $twice both as $twice.c and as $twice/mm.c; remove one"

tests/grade.py box
# Results of an earlier run must not pass for those of this one.
cut -f 1 "$list" | while IFS= read -r name; do rm -f "$out/$name.json"; done
bar=
[ ! -t 2 ] || bar=--bar
started=$(date +%s)
# shellcheck disable=SC2086 # options
parallel --will-cite $bar ${jobs:+--jobs "$jobs"} ${parallel:-} --workdir "$PWD" --colsep '\t' --joblog "$out/jobs.txt" \
    tests/grade.py one --quiet --kit "$kit" --stage "$stage" --seconds "${seconds:-120}" --out "$out"/{1}.json {2} :::: "$list"
failed=$?
[ $failed -eq 0 ] || echo "grade-class: $failed graders failed; see $out/jobs.txt" >&2
cut -f 1 "$list" | sed "s|.*|$out/&.json|" | tr '\n' '\0' | xargs -0 tests/grade.py table --csv "$out/grades.csv" &&
    echo "graded in $(($(date +%s) - started)) s"
