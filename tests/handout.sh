#!/bin/sh
# Proves make handout: no line of the stages left out is anywhere in it, and what students type works.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
failed=0
bad() {
    echo "test-handout: $*" >&2
    failed=1
}
# Not with what the make around this one was told.
unset MAKEFLAGS MAKELEVEL MFLAGS
try() {
    timeout 600 "$@" > "$dir/log" 2>&1 || { bad "$* fails"; tail -n 20 "$dir/log" >&2; }
}

for stages in 1 1,2,3; do
    out=$dir/$stages
    tests/handout.py "$stages" "$out" || exit 1
    tests/handout.py --lines "$stages" > "$dir/lines"
    [ "$(wc -l < "$dir/lines")" -ge 50 ] || bad "only $(wc -l < "$dir/lines") lines to look for: is the list right?"
    grep -rnFf "$dir/lines" "$out" > "$dir/found" && { bad "stages=$stages: solutions in the handout:"; head -n 20 "$dir/found" >&2; }
done
# The search finds what is there.
grep -qFf "$dir/lines" stages/4-*/mm.c || bad "the search for lines finds nothing even in a stage"

out=$dir/1
cksum "$out/README.md" > "$dir/sum"
tests/handout.py 1 "$out" 2> /dev/null && bad "a folder that existed was written to"
cksum "$out/README.md" | cmp -s - "$dir/sum" || bad "a folder that existed was changed"

try make -C "$out"
try make -C "$out" stage=1 test
try make -C "$out" start stage=2
timeout 600 make -C "$out" stage=my2 test > "$dir/log" 2>&1 && bad "an unchanged my2 passes all tests"
grep -q '^my2: [0-9]* passed, 1 failed' "$dir/log" || bad "an unchanged my2 does not fail exactly its goal"
try make -C "$out" hint stage=my2
grep -q 'dry' bench/bench.mk && try make -C "$out" stage=my2 bench dry=1
if command -v mkdocs > /dev/null; then try make -C "$out" docs; else echo "test-handout: docs skipped, no mkdocs"; fi

[ $failed -eq 0 ] && echo "test-handout: no solutions in it, and it works"
exit $failed
