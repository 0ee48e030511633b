#!/bin/sh
# record.sh LIBRARY READER OUT - run the command in $cmd and write its trace of malloc to OUT; `make record`.
#
# The command may start other processes. OUT gets the busiest one's trace, or that of $program (its name as ps
# shows it); with all=1 the others' go to OUT.2, OUT.3, ... (before .trace) in the order in which they
# started.
set -u

library=$(realpath "$1") reader=$(realpath "$2") out=$3
command=${cmd:?} name=${program:-} keep_all=${all:-}
unset cmd program all # the command shall not see them: its environment is on its heap
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

logs=$work/logs
mkdir "$logs" || exit 1
ALLOCLAB_RECORD=$logs LD_PRELOAD=$library sh -c "$command"
status=$?
[ $status -eq 0 ] || echo "record: it ended with status $status; what it did until then is recorded" >&2

# One line a process: number, calls, peak bytes, name.
processes=$("$reader" "$logs") || exit 1
if [ -z "$processes" ]; then
    echo "record: nothing was recorded: '$command' is linked statically or runs with other rights" >&2
    exit 1
fi
chosen=$(echo "$processes" | awk -v program="$name" \
    '(program == "" || $4 == program) && $2 > most { most = $2; best = $1 } END { print best }')
if [ -z "$chosen" ]; then
    names=$(echo "$processes" | cut -d' ' -f4- | sort -u | paste -sd ' ')
    echo "record: no process is called $name; pick one of: $names" >&2
    exit 1
fi

write_trace() { # PROCESS FILE
    case $2 in
    *.gz) "$reader" "$logs" "$1" > "$work/text" && gzip -9nc "$work/text" > "$2" ;;
    *) "$reader" "$logs" "$1" > "$2" ;;
    esac
}

echo "$processes" | {
    k=1 failed=0
    while read -r number calls peak process; do
        file=
        if [ "$number" = "$chosen" ]; then
            file=$out
        elif [ -n "$keep_all" ]; then
            k=$((k + 1))
            file=${out%%.trace*}.$k${out#"${out%%.trace*}"}
        fi
        [ -z "$file" ] || write_trace "$number" "$file" || failed=1
        printf '%-16s %9d calls, %10d bytes at the peak%s\n' "$process" "$calls" "$peak" "${file:+ -> $file}"
    done
    exit $failed
}
