#!/bin/sh
# programs.sh - the real programs of `make bench suite=programs`, and what they work on.
#
#     bench/programs.sh list                      their names
#     bench/programs.sh inputs FOLDER             writes the inputs, the same on every machine: no chance, fixed formulas
#     bench/programs.sh run PROGRAM SIZE FOLDER   becomes the program, over the malloc library $OVER (empty: the system's);
#                                                 SIZE: full or small. Status 3: not installed, with a line that says so
#
# The shell has none of the libraries preloaded, and is replaced by the program: so what it costs is the program's.
set -eu

names='sqlite3 python3 lua perl jq gawk cc1 redis'

items() # FULL SMALL: how much of something
{
    [ "$size" = full ] && echo "$1" || echo "$2"
}

sql()
{
    awk -v n="$1" 'BEGIN {
        print "create table t(id integer primary key, name text, amount integer); begin;"
        for (i = 1; i <= n; i++)
            printf "insert into t values(%d, \"row %d of many, with %d\", %d);\n", i, i * 7919 % 1000003, i % 97, i * 31 % 1009
        print "commit; create index by_amount on t(amount);"
        print "select amount % 50, count(*), max(name), group_concat(id) from t group by 1;" }'
}

json()
{
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "{\"id\":%d,\"group\":\"g%d\",\"tags\":[\"t%d\",\"u%d\"],\"name\":\"item %d\"}\n", i, i * 7919 % 101, i % 7, i % 11, i }'
}

words()
{
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "w%d%s", i * 7919 % 20011, i % 8 ? " " : "\n" }'
}

c_source()
{
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "int f%d(int a, int b) { int s = %d; for (int i = 0; i < a; i++) { if (i %% %d == b) s += i * b; else s ^= a << (i & %d); } return s; }\n", i, i * 31, i % 9 + 2, i % 5 }'
}

commands() # for redis-cli
{
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) {
        printf "SET key:%d %0*d\n", i * 7919 % 5003, i % 90 + 10, i
        printf "RPUSH list:%d value-%d\n", i % 503, i
        printf "HSET hash:%d field:%d %d\n", i % 211, i % 37, i } }'
}

inputs() # FOLDER
{
    for size in full small; do
        [ ! -e "$1/$size.done" ] || continue
        sql "$(items 20000 500)" > "$1/$size.sql"
        json "$(items 20000 400)" > "$1/$size.json"
        words "$(items 300000 2000)" > "$1/$size.words"
        c_source "$(items 150 2)" > "$1/$size.c"
        commands "$(items 20000 300)" > "$1/$size.redis"
        touch "$1/$size.done"
    done
}

need() # COMMAND
{
    command -v "$1" > /dev/null || { echo "$1 is not installed; make setup-programs installs it"; exit 3; }
}

over() # COMMAND...: in one language; gawk makes 1.9 or 3 million calls, as that is C or has UTF-8
{
    exec env ${OVER:+LD_PRELOAD="$OVER"} LC_ALL=C.UTF-8 "$@"
}

run() # PROGRAM SIZE FOLDER
{
    size=$2 folder=$3
    case $1 in
    sqlite3) need sqlite3; over sqlite3 :memory: < "$folder/$size.sql" ;;
    python3)
        need python3
        # The program itself: what is called python3 may be a script that looks for it.
        over PYTHONMALLOC=malloc PYTHONHASHSEED=0 "$(python3 -c 'import sys; print(sys.executable)')" -S -s bench/programs/words.py "$folder/$size.words"
        ;;
    lua) need lua5.4; over lua5.4 bench/programs/words.lua "$folder/$size.words" ;;
    perl) need perl; over PERL_HASH_SEED=0 perl bench/programs/words.pl "$folder/$size.words" ;;
    jq) need jq; over jq -c -s 'group_by(.group) | map({group: .[0].group, n: length, tags: (map(.tags[]) | unique)})' "$folder/$size.json" ;;
    gawk) need gawk; over gawk -f bench/programs/words.awk "$folder/$size.words" ;;
    cc1)
        need gcc
        over "$(gcc -print-prog-name=cc1)" -quiet -O2 -o - "$folder/$size.c"
        ;;
    redis)
        need redis-server
        socket=$(mktemp -u) # short: the path of a socket has a limit
        # The client runs beside the server, so that the server is what is waited for; it is not over the library.
        (
            # Until it answers (over stage 1 it takes seconds to start) or is gone: its process is this shell's.
            for try in $(seq 600); do
                [ "$(redis-cli -s "$socket" PING 2> /dev/null)" != PONG ] || break
                kill -0 $$ 2> /dev/null || exit
                sleep 0.1
            done
            redis-cli -s "$socket" --pipe < "$folder/$size.redis" | tail -n 1
            printf 'DBSIZE\nLLEN list:7\nGET key:7\nSHUTDOWN NOSAVE\n' | redis-cli -s "$socket"
        ) &
        # As packaged it asks for jemalloc: the C library, preloaded too, comes before that.
        OVER="${OVER:+$OVER }libc.so.6"
        over redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --loglevel warning --logfile /dev/null
        ;;
    esac
}

case $1 in
list) echo "$names" ;;
inputs) mkdir -p "$2" && inputs "$2" ;;
run) run "$2" "$3" "$4" ;;
esac
