# zeroed.awk - of classics.csv: BYTES NANOSECONDS, a block for calloc and for malloc + memset, over the system's malloc
# and over the last stage. Fresh memory; the quickest round.

$1 != "zeroed" || $3 !~ /^fresh (calloc|malloc\+memset)$/ { next }

$2 ~ /^[3-9]-/ && $2 > last { last = $2 }

{ least_of(best, $2 SUBSEP $3 SUBSEP $column["part"], $column["nanoseconds"] / $column["count"]) }

END {
    curve("system", "malloc+memset", 7)
    curve(last, "malloc+memset", 1)
    curve("system", "calloc", 4)
    curve(last, "calloc", 5)
}

function curve(name, call, colour,    bytes)
{
    if (name == "")
        return
    block(call ", " brief(name), colour)
    for (bytes = 100; bytes <= 1000000; bytes *= 10)
        if ((name, "fresh " call, bytes) in best)
            print bytes, best[name, "fresh " call, bytes]
}
