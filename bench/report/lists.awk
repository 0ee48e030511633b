# lists.awk - of classics.csv: NAME NANOSECONDS COLOUR for each way to keep a list, over the system's malloc and over
# the last stage. Of several rounds the quickest, as the tables of the classics have it.

$1 != "lists" || $column["part"] == "faults" { next }

$2 ~ /^[3-9]-/ && $2 > last { last = $2 }

{
    key = $2 SUBSEP $3
    if ($column["part"] == "Start")
        rounds[key]++
    total[key, rounds[key]] += $column["nanoseconds"] / $column["count"]
}

END {
    ways = split("malloc nice|pool nice|pool brute|item pool nice|item pool brute", way, "|")
    over("system", 7)
    if (last != "")
        over(last, tint(last))
}

function over(name, colour,    w, r, key)
{
    for (w = 1; w <= ways; w++) {
        key = name SUBSEP way[w]
        for (r = 1; r <= rounds[key]; r++)
            least_of(best, key, total[key, r])
        if (key in best)
            printf "\"%s, %s\" %g %d\n", way[w], brief(name), best[key], colour
    }
}
