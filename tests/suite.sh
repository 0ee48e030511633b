#!/bin/sh
# Runs the suite of each stage, all of them even if one fails, and shows the simplest failures in full, those after
# the fewest steps that do not say the same: one mistake makes many tests fail, and a screen holds few.
# Usage: tests/suite.sh BUILD STAGE...   (environment: only=PATTERN of suite/test, all=1 shows every failure)
set -u
build=$1
shift
shown=3
[ "${all:-}" = 1 ] && shown=1000000
failed=

# The suites first, as many at a time as there are processors; then what they said, in order.
printf '%s\n' "$@" | xargs -P "$(getconf _NPROCESSORS_ONLN)" -I '{}' sh -c '
    rm -f "$0.hung"
    LAB_HUNG=$0.hung LC_ALL=C timeout 900 "$0" -j1 --color=never --filter "$1" > "$0.log" 2>&1
    echo $? > "$0.status"' "$build/tests/{}" "${only:-*}"

for stage; do
    log=$build/tests/$stage.log
    read -r status < "$build/tests/$stage.status"
    case $stage in [0-9]-*) number=${stage%%-*} ;; *) number=$stage ;; esac
    # A failure is all lines up to its [FAIL]; what a stage says on stderr stands among them.
    awk -v stage="$stage" -v shown="$shown" -v hint="make stage=$number test all=1" '
        BEGIN { steps = 50 } # of a failure that does not say
        /^\[====\]/ {
            match($0, /Passing: [0-9]+/); passed = substr($0, RSTART + 9, RLENGTH - 9) + 0
            match($0, /Failing: [0-9]+/); failed = substr($0, RSTART + 9, RLENGTH - 9) + 0
            finished = 1
            next
        }
        { sub(/^\[----\] ? ? ?/, "    "); sub(/: [(][0-9.]+s[)]$/, ""); text = text $0 "\n" }
        /^    steps / || /: operation [0-9]+ of / {
            match($0, /[(][0-9]+, then|operation [0-9]+/) # those of a test before the last few, those of a trace
            split(substr($0, RSTART, RLENGTH), words, /[^0-9]+/)
            steps = words[2] + gsub(/; /, "; ")
        }
        said == "" && /^    [^ ]/ && !/: (Assertion Failed|Unexpected signal)/ { said = $0 }
        /^\[FAIL\]/ {
            gsub(/[0-9]+|(after|in) [^:]*:/, "", said) # what it says of no matter which blocks
            texts[++failures] = text; rank[failures] = steps; says[failures] = said
            text = said = ""; steps = 50
        }
        END {
            for (left = failures; left > 0 && printed < shown; left--) {
                simplest = 0
                for (i = 1; i <= failures; i++)
                    if (!(i in done) && (simplest == 0 || rank[i] < rank[simplest]))
                        simplest = i
                done[simplest] = 1
                if (shown < failures && says[simplest] in seen)
                    continue
                seen[says[simplest]] = 1
                printf "%s\n", texts[simplest]
                printed++
            }
            if (failures > printed)
                printf "... and %d more failures; all of them: %s\n\n", failures - printed, hint
            if (!finished)
                printf "%s: the suite did not end\n", text stage
            printf "%s: %d passed, %d failed\n", stage, passed, failed
        }' "$log"
    if grep -q 'Tested: 0 ' "$log"; then
        echo "only=$only is no test; as only='blocks/*', or see: $build/tests/$stage --list" >&2
        exit 2
    fi
    [ "$status" -eq 0 ] || failed="$failed $number"
    [ "$status" -ne 124 ] || echo "$stage: stopped after 900 seconds" >&2
done
[ -z "$failed" ] && exit 0
for number in $failed; do
    echo "stage $number fails; one test alone: make stage=$number test only='blocks/*'; all its output: $build/tests/$number*.log" >&2
done
exit 1
