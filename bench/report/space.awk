# space.awk - of space.csv: a row for each load and stage, its name and the end of each part in percent of the heap;
# a blank row between loads.

BEGIN { loads = split("live-100k uniform log python3 sqlite3", load, " ") }

{
    if (!($1 in seen)) {
        seen[$1] = 1
        stage[++stages] = $1
    }
    done[$1, $2] = $column["done"]
    for (i = column["payload"]; i <= column["later"]; i++)
        part[$1, $2, i] = 100 * $i / $column["heap"]
}

END {
    for (l = 1; l <= loads; l++)
        if ((stage[1], load[l]) in done) {
            if (drawn++)
                print "\"\" 0 0 0 0 0 0 0 0 0"
            for (s = 1; s <= stages; s++)
                bar(stage[s], load[l])
        }
}

function bar(name, on,    i, sum)
{
    printf "\"%s, %s%s\"", on, name ~ /^[0-9]/ ? substr(name, 1, 1) : name, done[name, on] < 1 ? "*" : ""
    for (i = column["payload"]; i <= column["later"]; i++)
        printf " %.2f", sum += part[name, on, i]
    print ""
}
