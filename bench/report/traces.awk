# traces.awk - of traces.csv: ROW SPEED LOW HIGH COLOUR TRACE, a block for each allocator; speed is that of the system's
# malloc as 1, so a ratio of times turned round.

!($1 in row) { row[$1] = rows++; trace[rows] = $1 }

!($2 in seen) { seen[$2] = 1; allocator[++allocators] = $2 }

known($column["ratio"]) {
    speed[$2, $1] = 1 / $column["ratio"]
    low[$2, $1] = 1 / or_else($column["ratio_high"], $column["ratio"])
    high[$2, $1] = 1 / or_else($column["ratio_low"], $column["ratio"])
}

END {
    for (a = 1; a <= allocators; a++)
        if (allocator[a] != "system" && allocator[a] != "harness")
            dots(allocator[a])
}

function dots(name,    t)
{
    block(name, tint(name))
    for (t = 1; t <= rows; t++)
        if ((name, trace[t]) in speed)
            print row[trace[t]], speed[name, trace[t]], low[name, trace[t]], high[name, trace[t]], tint(name), trace[t]
}
