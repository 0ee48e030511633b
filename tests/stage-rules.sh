#!/bin/sh
# The rules that make `make diff stage=N` a lesson, checked: sizes of the stage files and of their diffs, no
# noise in a diff, and the same order of the functions that two stages share.
# Usage: tests/stage-rules.sh stages/1-... stages/2-... (in order)
set -u
MAX_LINES=365 MAX_ADDED=120 MAX_REMOVED=65
failed=0

fail() {
    echo "stage-rules: $*" >&2
    failed=1
}

# Names of the functions that a stage defines, in order: a line that starts in column 1 and has "name(".
functions() {
    sed -n 's/^static [a-z_ \*]*[ \*]\([a-z_]*\)(.*/\1/p' "$1"
}

before=
for stage; do
    file=$stage/mm.c
    lines=$(wc -l < "$file")
    [ "$lines" -le $MAX_LINES ] || fail "$file has $lines lines; at most $MAX_LINES"
    sed '/\*\//q' "$file" | grep -q 'Changed:' || fail "$file: the first comment has no line 'Changed:'"
    if [ -n "$before" ]; then
        old=$before/mm.c
        added=$(diff "$old" "$file" | grep -c '^>')
        removed=$(diff "$old" "$file" | grep -c '^<')
        [ "$added" -le $MAX_ADDED ] || fail "$old -> $file adds $added lines; at most $MAX_ADDED"
        [ "$removed" -le $MAX_REMOVED ] || fail "$old -> $file removes $removed lines; at most $MAX_REMOVED"
        # A line that differs in nothing but the white space inside it would drown the lesson.
        diff "$old" "$file" | awk -v what="$old -> $file" '
            /^[<>]/ { line = substr($0, 3); sub(/^ +/, "", line); bare = line; gsub(/ /, "", bare) }
            /^</ { removed[line]; removed_bare[bare] }
            /^>/ && bare != "" && (bare in removed_bare) && !(line in removed) {
                print "stage-rules: " what ": changed in white space only: " line; found = 1
            }
            END { exit found }' >&2 || failed=1
        # What both define stands in the same order.
        functions "$old" > "$tmp.old"
        functions "$file" > "$tmp.new"
        grep -Fx -f "$tmp.new" "$tmp.old" > "$tmp.shared.old"
        grep -Fx -f "$tmp.old" "$tmp.new" > "$tmp.shared.new"
        cmp -s "$tmp.shared.old" "$tmp.shared.new" ||
            fail "$old -> $file: functions that both define are in another order"
        echo "$file: $lines lines; $added added, $removed removed since ${before##*/}"
    else
        tmp=$(mktemp)
        trap 'rm -f "$tmp" "$tmp".*' EXIT
        echo "$file: $lines lines"
    fi
    before=$stage
done
exit $failed
