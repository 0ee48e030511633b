# recorded.awk RECORDED MEASURED - is any counted work more than 2 % above what is recorded? Status 1 if it is.
# Lines: ALLOCATOR,WORKLOAD,CALLS,COUNTER,AMOUNT. Of instructions the harness's are subtracted first.

BEGIN { FS = "," }

/^#/ || $1 == "allocator" { next }

FNR == NR { recorded[$1 "," $2 "," $4] = $5; recorded_calls[$1 "," $2 "," $4] = $3; next }
{ measured[$1 "," $2 "," $4] = $5; measured_calls[$1 "," $2 "," $4] = $3 }

END {
    for (key in recorded) {
        split(key, part, ",")
        if (part[1] == "harness" || part[1] == "system")
            continue
        compare(key, part[1], part[2], part[3])
    }
    printf "%d compared, %d worse, %d better\n", compared, worse, better
    if (worse == 0 && better > 0)
        print "To keep what is better: make record-counts, and commit bench/recorded."
    exit worse > 0 || compared == 0
}

function net(table, key, workload, counter)
{
    return table[key] - (counter == "instructions" ? table["harness," workload "," counter] : 0)
}

function compare(key, name, workload, counter,    old, new, change)
{
    compared++
    if (!(key in measured)) {
        worse++
        printf "%s on %s: %s are recorded, and were not measured\n", name, workload, counter
        return
    }
    if (recorded_calls[key] != measured_calls[key]) {
        worse++
        printf "%s on %s: %d calls are recorded, now there are %d: another workload; type make record-counts\n",
            name, workload, recorded_calls[key], measured_calls[key]
        return
    }
    old = net(recorded, key, workload, counter)
    new = net(measured, key, workload, counter)
    change = old == 0 ? "from none" : sprintf("%+.1f %%", 100 * (new - old) / old)
    if (new > old * 1.02) {
        worse++
        printf "%s on %s: %s %d, recorded are %d (%s)\n", name, workload, counter, new, old, change
    } else if (new < old * 0.98) {
        better++
        printf "better: %s on %s: %s %d, recorded are %d (%s)\n", name, workload, counter, new, old, change
    }
}
