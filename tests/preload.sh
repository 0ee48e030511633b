#!/bin/sh
# Real programs over each stage, as their malloc: their output must be that over the system's malloc, to the byte.
# Usage: tests/preload.sh BUILD LIBRARY...
# Where a call costs O(blocks), stages 1 and 2, python3 gets a smaller dict, so that it ends in seconds.
set -u
build=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# The programs: $over is the environment of the program itself, not of what feeds it; $1 is how much it has to do.
run_ls() { env $over ls -lR /usr/share/doc; }
run_gcc() { env $over gcc -std=c11 -O2 -Icommon -c common/memory.c -o "$dir/o" && cksum < "$dir/o"; }
run_python3() {
    env $over PYTHONMALLOC=malloc PYTHONHASHSEED=0 python3 -S -s -c \
        "d = {i: str(i) * (i % 9) for i in range($1)}; print(len(d), sum(map(len, d.values())))"
}
run_sqlite3() {
    { echo 'create table t(id integer primary key, name text); begin;'
      seq 1 "$1" | awk '{ printf "insert into t values(%d, \"row %d of many\");\n", $1, $1 * 7919 }'
      echo 'commit; select count(*), sum(length(name)), max(name) from t; select * from t where id % 997 = 0;'
    } | env $over sqlite3 :memory:
}
run_threads() { env $over "$build/tests/preload_threads" "$1"; }
run_calls() { env $over "$build/tests/preload_calls"; }

for library; do
    name=${library##*/}
    case $name in
        lib1-* | lib2-* | libmy1.so | libmy2.so) entries=2000 ;;
        *) entries=20000 ;;
    esac
    for program in ls gcc python3 sqlite3 threads calls; do
        if [ $program != threads ] && [ $program != calls ] && ! command -v $program > /dev/null; then
            echo "$name: $program is not installed: skipped"
            continue
        fi
        size=10000
        [ $program != python3 ] || size=$entries
        over=NOTHING=1
        run_$program $size > "$dir/expected" 2>&1
        over=LD_PRELOAD=$library
        started=$(date +%s)
        if (ulimit -t 120; run_$program $size) > "$dir/got" 2>&1 && cmp -s "$dir/expected" "$dir/got"; then
            echo "$name: $program: same output, $(wc -c < "$dir/got") bytes, $(($(date +%s) - started)) s"
        else
            echo "$name: $program: another output than over the system's malloc:" >&2
            diff "$dir/expected" "$dir/got" | head -5 >&2
            failed=1
        fi
    done
done
exit $failed
