# predictions.awk HEADERS RESULTS - predicted against measured, for each phase. -v csv: where to write the table too.
# HEADERS: STAGE,BYTES; RESULTS: what bench writes. The predictions are those of the project that the course is
# modelled on; they stand here as they were made, right or wrong.

BEGIN { FS = "," }

FNR == 1 { file++ }

file == 1 {
    number = substr($1, 1, index($1, "-") - 1)
    stage[number] = $1
    header[number] = $2
}

file == 2 && FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
file == 2 && $column["ms"] ~ /^[0-9]/ { ms[$1, $2] = $column["ms"] }

END {
    seven = "seq random fill large frag realloc mixed"
    printf "phase,what,predicted,measured,spread,verdict\n" > csv
    format = "%-27s %-35s %14s %9s  %-14s %s\n"
    printf format, "", "", "predicted", "measured", "by workload", ""
    speedup("1 > 2 explicit list", "small allocations: seq random frag", 1, 2, "seq random frag", 5, 10)
    speedup("2 > 3 no validation", "all seven workloads", 2, 3, seven, 2, 3)
    speedup("3 > 4 size classes", "sequential small: seq", 3, 4, "seq", 10, 20)
    bytes()
    totals("stage 1 against the system", "total of the seven", seven, 54.61)
    totals("stage 1 against the system", "sequential: seq", "seq", 158.68)
    print "\nA speed-up is the time before as a multiple of the time after; of several workloads the geometric mean."
    print "The totals are what the original measured of its first stage, on its machine and its system's malloc."
}

function time(number, workload)
{
    return ms[number == 0 ? "system" : stage[number], workload]
}

function speedup(phase, what, before, after, workloads, low, high,    w, n, x, sum, least, most)
{
    n = split(workloads, list, " ")
    for (w = 1; w <= n; w++) {
        if (!(time(before, list[w]) > 0 && time(after, list[w]) > 0)) {
            row(phase, what, low " to " high " x", "-", "", list[w] " is not in it; type make bench")
            return
        }
        x = time(before, list[w]) / time(after, list[w])
        sum += log(x)
        least = w == 1 || x < least ? x : least
        most = w == 1 || x > most ? x : most
    }
    x = exp(sum / n)
    row(phase, what, low " to " high " x", figure(x) " x", n == 1 ? "" : figure(least) " to " figure(most),
        x < low ? "less" : x > high ? "more" : "as predicted")
}

function bytes(    text)
{
    text = header[4] + 0 == 0 || header[5] + 0 == 0 ? "-" : header[5] " bytes"
    row("4 > 5 compact tags", "metadata of a block: " header[4] " bytes before", "16 to 24 bytes", text, "",
        header[5] < 16 ? "better" : header[5] > 24 ? "worse" : "as predicted")
}

function totals(phase, what, workloads, original,    w, n, ours, theirs)
{
    n = split(workloads, list, " ")
    for (w = 1; w <= n; w++) {
        if (!(time(1, list[w]) > 0 && time(0, list[w]) > 0)) {
            row(phase, what, original " x", "-", "", list[w] " is not in it; type make bench")
            return
        }
        ours += time(1, list[w])
        theirs += time(0, list[w])
    }
    row(phase, what, original " x", figure(ours / theirs) " x", "", ours / theirs > original ? "more" : "less")
}

function row(phase, what, predicted, measured, spread, verdict)
{
    printf format, phase, what, predicted, measured, spread, verdict
    printf "%s,%s,%s,%s,%s,%s\n", phase, what, predicted, measured, spread, verdict > csv
}

function figure(x)
{
    return sprintf(x >= 100 ? "%.0f" : x >= 10 ? "%.1f" : "%.2f", x)
}
