# ablation.awk COUNTS TIMES - what each idea is worth, alone and beside the others.
# COUNTS: ALLOCATOR,WORKLOAD,CALLS,COUNTER,AMOUNT; TIMES: what bench writes; -v ideas: their names, each also with +check.

BEGIN {
    FS = ","
    ideas_count = split(ideas, idea, " ")
}

FNR == 1 { file++ }

file == 1 && ($4 == "searched" || $4 == "validated") { looked[$1, $2] += $5 / $3 }

file == 2 && FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }

file == 2 {
    if (!($2 in known)) {
        known[$2] = 1
        workload[++workloads] = $2
    }
    if ($column["ms"] ~ /^[0-9]/)
        ms[$1, $2] = $column["ms"]
}

END {
    heading("Time as a multiple of the system's malloc, for one run of the workload; +check: every call validates", "mean")
    for (v = 1; v >= 0; v--)
        for (i = 1; i <= ideas_count; i++)
            ratios(name(i, v), "system", name(i, v), 0)
    heading("Blocks looked at per call, by malloc and by validation", "")
    for (v = 1; v >= 0; v--)
        for (i = 1; i <= ideas_count; i++)
            visits(name(i, v))
    heading("Speed-up by each step: the time before as a multiple of the time after", "mean")
    for (i = 2; i <= ideas_count; i++)
        for (v = 1; v >= 0; v--)
            ratios(name(i - 1, v), name(i, v), idea[i - 1] " > " idea[i] (v ? ", +check" : ""), 0)
    for (i = 1; i <= ideas_count; i++)
        ratios(name(i, 1), name(i, 0), "no check, " idea[i], 0)
    heading("The same steps in blocks looked at (1 added to each, as there may be none)", "mean")
    for (i = 2; i <= ideas_count; i++)
        for (v = 1; v >= 0; v--)
            ratios(name(i - 1, v), name(i, v), idea[i - 1] " > " idea[i] (v ? ", +check" : ""), 1)
    for (i = 1; i <= ideas_count; i++)
        ratios(name(i, 1), name(i, 0), "no check, " idea[i], 1)
    print "\nTimes contain what the workload itself costs; mean is the geometric one."
}

function name(i, check)
{
    return idea[i] (check ? "+check" : "")
}

function heading(title, last,    w)
{
    printf "\n%s\n%-29s", title, ""
    for (w = 1; w <= workloads; w++)
        printf "%9s", workload[w]
    printf "%9s\n", last
}

function ratios(over, under, title, of_visits,    w, x, sum, n)
{
    printf "%-29s", title
    for (w = 1; w <= workloads; w++) {
        if (of_visits)
            x = (1 + looked[over, workload[w]]) / (1 + looked[under, workload[w]])
        else if (((over, workload[w]) in ms) && ((under, workload[w]) in ms))
            x = ms[over, workload[w]] / ms[under, workload[w]]
        else
            x = 0
        printf "%9s", figure(x)
        if (x > 0) {
            sum += log(x)
            n++
        }
    }
    printf "%9s\n", n == workloads ? figure(exp(sum / n)) : "-"
}

function visits(allocator,    w)
{
    printf "%-29s", allocator
    for (w = 1; w <= workloads; w++)
        printf "%9s", figure(looked[allocator, workload[w]])
    print ""
}

function figure(x)
{
    return x == 0 ? "-" : sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : x >= 0.01 ? "%.2f" : "%.4f", x)
}
