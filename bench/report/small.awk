# small.awk - of classics.csv: NAME NANOSECONDS COLOUR for each way to get a small object, the quickest round.

$1 != "small" || $column["part"] != "kept" || $3 ~ /destroy [0-9]+|second pass/ { next }

{
    way = ""
    if ($2 == "C++")
        way = $3 " (C++)"
    else if ($3 == "malloc/free")
        way = $3 ", " shown($2)
    else if ($3 == "item pool" && $2 == "system")
        way = $3
}

way != "" {
    least_of(best, way, $column["nanoseconds"] / $column["count"])
    colour[way] = $3 == "malloc/free" && $2 != "C++" ? tint($2) : 8
}

END {
    for (way in best)
        printf "\"%s\" %g %d\n", way, best[way], colour[way]
}
