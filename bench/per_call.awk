# per_call.awk - tables of counted work per call, from lines ALLOCATOR,WORKLOAD,CALLS,COUNTER,AMOUNT.
# Of instructions the harness's are subtracted; its own row shows them.

BEGIN {
    FS = ","
    title["searched"] = "Blocks that malloc looked at, per call"
    title["validated"] = "Blocks that validation looked at, per call"
    title["splits"] = "Splits, per call"
    title["merges"] = "Merges, per call"
    title["growths"] = "Growths of the heap, per 1,000 calls"
    title["copied"] = "Bytes that realloc copied, per call"
    title["cleared"] = "Bytes that calloc cleared, per call"
    title["heap"] = "Largest heap, in KiB"
    title["instructions"] = "Instructions per call; the harness's own are subtracted, and in its row"
}

/^#/ { print "counted for: " substr($0, 3); next }
$1 == "allocator" { next }

{
    add("counters", $4)
    add("workloads " $4, $2)
    add("allocators " $4, $1)
    amount[$4, $1, $2] = $5
    calls[$4, $1, $2] = $3
}

END {
    for (c = 1; c <= size["counters"]; c++)
        table(member["counters", c])
}

function table(counter,    a, w, name)
{
    printf "\n%s\n%-18s", title[counter], ""
    for (w = 1; w <= size["workloads " counter]; w++)
        printf "%9s", member["workloads " counter, w]
    print ""
    for (a = 1; a <= size["allocators " counter]; a++) {
        name = member["allocators " counter, a]
        printf "%-18s", name
        for (w = 1; w <= size["workloads " counter]; w++)
            printf "%9s", figure(counter, name, member["workloads " counter, w])
        print ""
    }
}

function figure(counter, name, workload,    x)
{
    if (!((counter, name, workload) in amount))
        return "-"
    x = amount[counter, name, workload]
    if (counter == "heap")
        return sprintf("%.0f", x / 1024)
    if (counter == "instructions" && name != "harness")
        x -= amount[counter, "harness", workload]
    x /= calls[counter, name, workload]
    if (counter == "growths")
        x *= 1000
    return x == 0 ? "0" : sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : x >= 0.01 ? "%.2f" : "%.4f", x)
}

function add(set, value)
{
    if ((set, value) in known)
        return
    known[set, value] = 1
    member[set, ++size[set]] = value
}
