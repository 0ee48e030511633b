# space.awk RESIDENT SPACE - utilisation of each allocator on each load, and where the lost bytes of the stages are.
# RESIDENT is of trace_bench, SPACE of space.c; -v loads: those whose heap is shown in parts.

BEGIN { FS = "," }

FNR == 1 { file++; for (i = 1; i <= NF; i++) column[$i] = i; next }

file == 1 && $column["heap_bytes"] > 0 {
    add("loads", $column["trace"])
    add("others", $column["allocator"])
    x = $column["peak_payload_bytes"] / $column["heap_bytes"]
    used[$column["allocator"], $column["trace"]] = sprintf("%.1f~", 100 * (x > 1 ? 1 : x))
    payload[$column["trace"]] = $column["peak_payload_bytes"]
}

file == 2 {
    load = $column["load"]
    add("loads", load)
    add("stages", $1)
    heap[$1, load] = $column["heap"]
    done[$1, load] = $column["done"]
    used[$1, load] = sprintf("%.1f%s", 100 * $column["payload"] / $column["heap"], $column["done"] < 1 ? "*" : " ")
    for (i = column["payload"]; i <= column["later"]; i++)
        part[$1, load, i] = $i
    parts_from = column["payload"]
    parts_to = column["later"]
    if ($column["done"] < 1)
        stopped = stopped sprintf("* %s on %s: stopped by limit= after %.0f %% of the calls; the figures are of that heap.\n",
            $1, load, 100 * $column["done"])
}

END {
    printf "\nUtilisation in percent: peak payload by peak heap\n%-15s %9s", "", "peak KiB"
    for (a = 1; a <= size["stages"]; a++)
        printf " %9s", label(member["stages", a])
    for (a = 1; a <= size["others"]; a++)
        printf " %9s", member["others", a]
    print ""
    for (l = 1; l <= size["loads"]; l++) {
        load = member["loads", l]
        printf "%-15s %9.0f", load, payload[load] / 1024
        for (a = 1; a <= size["stages"]; a++)
            printf " %9s", ((member["stages", a], load) in used) ? used[member["stages", a], load] : "-"
        for (a = 1; a <= size["others"]; a++)
            printf " %9s", ((member["others", a], load) in used) ? used[member["others", a], load] : "-"
        print ""
    }
    print "~ is by the growth of resident memory, every payload written to; without it the heap is known to the byte."

    print "\nWhere the bytes of the heap are when most of them are payload, in percent of the largest heap"
    printf "%-15s %-18s %9s", "", "", "heap KiB"
    split("payload header rounding minimum unsplit holes quick end later", title, " ")
    for (i = 1; i <= 9; i++)
        printf " %8s", title[i]
    print ""
    for (n = split(loads, shown, " "); k < n;) {
        load = shown[++k]
        for (a = 1; a <= size["stages"]; a++)
            if ((member["stages", a], load) in heap) # not if it failed, or came after Ctrl-C
                row(a == 1 ? load : "", member["stages", a], load)
    }
    traces = 0
    for (l = 1; l <= size["loads"]; l++)
        traces += !(" " loads " " ~ " " member["loads", l] " ")
    for (a = 1; traces && a <= size["stages"]; a++)
        mean_row(a == 1 ? traces " traces" : "", member["stages", a])
    print "minimum: to the smallest block that there can be. unsplit: the rest of a larger block, kept whole. holes: free"
    print "blocks. quick: freed, unmerged. end: the free block at the end. later: the heap grew after its payload's peak."
    printf "%s", stopped
}

function row(title, stage, load,    i)
{
    printf "%-15s %-18s %9.0f", title, stage, heap[stage, load] / 1024
    for (i = parts_from; i <= parts_to; i++)
        percent(part[stage, load, i] / heap[stage, load])
    print done[stage, load] < 1 ? " *" : ""
}

# Each trace counts alike.
function mean_row(title, stage,    i, l, sum)
{
    printf "%-15s %-18s %9s", title, stage, "(mean)"
    for (l = 1; l <= size["loads"]; l++)
        if (!(" " loads " " ~ " " member["loads", l] " ") && !((stage, member["loads", l]) in heap)) {
            print "       - not all measured"
            return
        }
    for (i = parts_from; i <= parts_to; i++) {
        sum = 0
        for (l = 1; l <= size["loads"]; l++)
            if (!(" " loads " " ~ " " member["loads", l] " "))
                sum += part[stage, member["loads", l], i] / heap[stage, member["loads", l]]
        percent(sum / traces)
    }
    print ""
}

function percent(x)
{
    printf x == 0 ? "        -" : " %8.1f", 100 * x
}

function label(stage)
{
    return stage ~ /^[0-9]/ ? "stage " substr(stage, 1, index(stage, "-") - 1) : stage
}

function add(set, value)
{
    if ((set, value) in known)
        return
    known[set, value] = 1
    member[set, ++size[set]] = value
}
