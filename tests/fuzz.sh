#!/bin/sh
# fuzz.sh STAGE BUILD SECONDS - fuzz a stage; when it fails, shrink what was found. Called by make fuzz.
set -u
stage=$1 build=$2 seconds=$3
case $seconds in
'' | *[!0-9]*) echo "seconds=$seconds is not a number; type seconds=60" >&2; exit 2 ;;
esac

dir=$build/fuzz/$stage
make --no-print-directory -s B="$build" "$dir/fuzz" "$dir/replay" || exit 1
rm -f "$dir"/crash-* "$dir"/timeout-* "$dir"/oom-* "$dir"/leak-*

# New inputs go to the first corpus; the one in the repository is only read. 1024 bytes are 256 operations.
if "$dir/fuzz" -max_total_time="$seconds" -max_len=1024 -timeout=5 -artifact_prefix="$dir/" \
    "$dir/corpus" tests/fuzz-corpus > "$dir/log" 2>&1; then
    echo "fuzz: $stage stood $seconds s; $(tail -n 1 "$dir/log")"
    exit 0
fi
found=$(find "$dir" -maxdepth 1 \( -name 'crash-*' -o -name 'timeout-*' -o -name 'oom-*' -o -name 'leak-*' \) | head -n 1)
if [ -z "$found" ]; then
    echo "fuzz: libFuzzer did not run; the end of $dir/log:" >&2
    tail -n 5 "$dir/log" >&2
    exit 1
fi
echo "fuzz: $stage fails"
"$dir/replay" decode "$found" > "$dir/found.trace"
"$dir/replay" shrink "$dir/found.trace" "save=$build/fail-$stage"
[ $? -eq 1 ] || { echo "run alone it does not fail; libFuzzer's report is in $dir/log"; }
exit 1
