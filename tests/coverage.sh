#!/bin/sh
# Coverage of the stages and of common/ by the tests: a line per file, what no test reaches, and HTML.
# Usage: B=BUILD stage=N tests/coverage.sh MAKE; without stage, all of them.
# tests/uncovered.txt gives the reason for each line that no test can reach: a new one without a reason fails.
set -eu
make=$1
for tool in lcov genhtml; do
    command -v $tool > /dev/null || { echo "coverage needs $tool; make setup installs it" >&2; exit 1; }
done

flags='-O0 -g --coverage -fprofile-update=atomic -DLAB_COVERAGE'
mkdir -p "$B"
find "$B" -name '*.gcda' -exec rm {} +
if [ -n "$stage" ]; then
    targets=test-suites
    only_stage="stage=$stage"
    measured="$PWD/stages/*" # common/ is for all stages: one of them does not reach all of it
else
    targets='test-suites test-pools'
    only_stage=
    measured="$PWD/stages/* $PWD/common/*"
fi
set -f # a pattern is lcov's to expand
# shellcheck disable=SC2086 # lists of words
$make --no-print-directory -s B="$B" CFLAGS="$flags" $only_stage $targets
for over in ${stage:-5 6}; do # one that is locked from outside, one that locks itself
    $make --no-print-directory -s B="$B" CFLAGS="$flags" stage="$over" test-preload > "$B/preload.log" 2>&1 ||
        { cat "$B/preload.log" >&2; exit 1; }
done

# lcov 1.16 on perl 5.36 warns about itself; real errors end in a status.
branches='--rc lcov_branch_coverage=1 --rc genhtml_branch_coverage=1'
{
    # shellcheck disable=SC2086
    lcov -q $branches --capture --directory "$B" -o "$B/all.info" &&
        lcov -q $branches --extract "$B/all.info" $measured -o "$B/lab.info" &&
        genhtml -q $branches --prefix "$PWD" -o "$B" "$B/lab.info"
} > "$B/lcov.log" 2>&1 || { cat "$B/lcov.log" >&2; exit 1; }

awk -v root="$PWD/" '
    function percent(part, all) { return all == 0 ? 100 : 100 * part / all }
    FILENAME == "tests/uncovered.txt" {
        if (!/^#/ && split($0, field, " \\| ") == 3) { places[++n] = field[1]; parts[n] = field[2]; reasons[n] = field[3] }
        next
    }
    function why(i) {
        for (i in reasons) if (index(file, places[i]) == 1 && index(source[line], parts[i])) return reasons[i]
    }
    /^SF:/ {
        file = substr($0, 4); sub(root, "", file)
        lines = hit = branches = taken = length_read = 0
        while ((getline text < file) > 0) source[++length_read] = text
        close(file)
    }
    /^DA:/ {
        split(substr($0, 4), da, ","); line = da[1]
        if (da[2] == 0) {
            text = source[line]; sub(/^ +/, "", text)
            list = list sprintf("  %s:%d: %s\n      %s\n", file, line, text, why() ? why() : "NO REASON GIVEN")
            failed += !why()
        }
        lines += da[2] > 0 || !why(); hit += da[2] > 0
    }
    /^BRDA:/ {
        split(substr($0, 6), br, ","); line = br[1]
        if (!why()) { branches++; taken += br[4] != "-" && br[4] > 0 }
    }
    /^end_of_record/ {
        low = percent(hit, lines) < 98 || percent(taken, branches) < 90
        printf "%-32s %5.1f %% of %3d lines  %5.1f %% of %3d branches%s\n", file, percent(hit, lines), lines,
            percent(taken, branches), branches, low ? "  (should be 98 and 90)" : ""
        failed += low
    }
    END { if (list != "") printf "\nNot reached, and not counted where there is a reason:\n%s", list; exit failed != 0 }
' tests/uncovered.txt "$B/lab.info" || { echo "coverage: too little, or lines without a reason in tests/uncovered.txt" >&2; exit 1; }
echo "all of it: $B/index.html"
