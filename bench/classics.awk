# classics.awk - the tables of the classics, from the raw times that classics.sh kept.
#
# Every round does exactly the same work, so the quickest is the one that other programs disturbed least: it
# is what the tables show. The last line says how much longer the median round took.

BEGIN { FS = "," }

/^#/ { machine = substr($0, 3); next }
$1 == "comparison" { next }

# times[key]: of each round the nanoseconds of one operation, or the page faults of building a list once.
{
    add($1, $2, $3, $4, $6 / $5)
    count[$1, $2, $3, $4] = $5
    seen($1, $2)
    seen($1 " " $2, $3)
}

# The phases of a list come in order, and then its faults.
$1 == "lists" || $1 == "chunks" {
    if ($4 != "faults") {
        total += $6 / $5
    } else {
        add($1, $2, $3, "Total", total)
        total = 0
    }
}

function add(comparison, allocator, variant, part, x,    key)
{
    key = comparison SUBSEP allocator SUBSEP variant SUBSEP part
    times[key] = times[key] " " x
}

# Members of a set, in the order in which they came: members[set, 1 .. sizes[set]].
function seen(set, member)
{
    if (!((set SUBSEP member) in is_member)) {
        is_member[set, member] = 1
        members[set, ++sizes[set]] = member
    }
}

# The quickest round; -1: not measured.
function quickest(comparison, allocator, variant, part,    key)
{
    key = comparison SUBSEP allocator SUBSEP variant SUBSEP part
    return key in times ? in_round(key, quickest_round(key)) : -1
}

function in_round(key, round,    all)
{
    split(times[key], all, " ")
    return all[round] + 0
}

function quickest_round(key,    all, best, n, i)
{
    n = split(times[key], all, " ")
    best = 1
    for (i = 2; i <= n; i++)
        if (all[i] + 0 < all[best] + 0)
            best = i
    return best
}

function median_of(list,    n, i, j, x, sorted)
{
    n = split(list, sorted, " ")
    for (i = 2; i <= n; i++) {
        x = sorted[i] + 0
        for (j = i - 1; j > 0 && sorted[j] + 0 > x; j--)
            sorted[j + 1] = sorted[j]
        sorted[j + 1] = x
    }
    return sorted[int((n + 1) / 2)] + 0
}

function rounds(    key, all)
{
    for (key in times)
        return split(times[key], all, " ")
}

# By how many percent the median round is over the quickest, in the median cell.
function disturbance(    key, best, list)
{
    for (key in times) {
        best = in_round(key, quickest_round(key))
        if (best > 0)
            list = list " " 100 * (median_of(times[key]) / best - 1)
    }
    return median_of(list)
}

function cell(x, width, decimals)
{
    return x < 0 ? sprintf("%" width "s", "-") : sprintf("%" width "." decimals "f", x)
}

function title(text)
{
    printf "\n%s\n%s\n\n", text, machine
}

# ---- List nodes ----

# All phases of one round, so that they add up.
function phases(allocator, variant,    i, n, names, key, round, ns, line)
{
    n = split("Start Build Remove Done End Total", names, " ")
    line = sprintf("  %-18s %-18s", variant, allocator)
    key = "lists" SUBSEP allocator SUBSEP variant SUBSEP
    round = quickest_round(key "Total")
    for (i = 1; i <= n; i++) {
        ns = in_round(key names[i], round)
        line = line cell(ns * count[key "Start"] / 1e6, 9, 2)
    }
    printf "%s%10.1f\n", line, ns
}

function lists(    i, j, allocator, last)
{
    title("List of 65,536 nodes of 24 bytes, built and removed 16 times: milliseconds of processor time")
    printf "  %-18s %-18s%9s%9s%9s%9s%9s%9s%10s\n", "", "over",
        "Start", "Build", "Remove", "Done", "End", "Total", "ns/node"
    for (i = 1; i <= sizes["lists"]; i++)
        phases(members["lists", i], "malloc nice")
    for (i = 1; i <= sizes["lists"]; i++)
        if (members["lists", i] == "system" || members["lists", i] ~ /^[0-9]/)
            last[members["lists", i] == "system" ? 1 : 2] = members["lists", i]
    for (i = 1; i <= 2; i++)
        for (j = 2; i in last && j <= sizes["lists " last[i]]; j++)
            phases(last[i], members["lists " last[i], j])

    printf "\n  The same, ns per node       malloc    general pool        item pool\n"
    printf "  %-24s%10s%8s%8s  %8s%8s%8s\n", "over", "nice", "nice", "brute", "nice", "brute", "nodes"
    for (i = 1; i <= sizes["lists"]; i++) {
        allocator = members["lists", i]
        printf "  %-24s%s%s%s  %s%s%8d\n", allocator, total_of("lists", allocator, "malloc nice", 10),
            total_of("lists", allocator, "pool nice", 8), total_of("lists", allocator, "pool brute", 8),
            total_of("lists", allocator, "item pool nice", 8),
            total_of("lists", allocator, "item pool brute", 8),
            count["lists", allocator, "malloc nice", "Start"] / 16
    }
    print "  nodes: of malloc; fewer where a call looks at every block"
}

function total_of(comparison, allocator, variant, width)
{
    return cell(quickest(comparison, allocator, variant, "Total"), width, 1)
}

function chunks()
{
    printf "\n  Why brute force can lose: the item pool by what becomes of its chunks\n"
    printf "  %-36s%24s%8s   %s\n", "", "ns per node", "brute", "page faults per round"
    printf "  %-36s%8s%10s%6s%8s%8s%10s%7s\n", "chunks",
        "nice", "new pool", "brute", "/ nice", "nice", "new pool", "brute"
    chunks_by("malloc and free of the system", "system", "malloc/free")
    chunks_by("the same, MALLOC_TRIM_THRESHOLD_=1e9", "untrimmed", "malloc/free")
    chunks_by("mmap and munmap, each chunk", "system", "mmap/munmap")
    chunks_by("kept for the next pool", "system", "kept")
}

function chunks_by(label, allocator, way,    nice)
{
    nice = quickest("chunks", allocator, way " nice", "Total")
    printf "  %-36s%s%s%s%s%s%s%s\n", label, cell(nice, 8, 1),
        total_of("chunks", allocator, way " new pool", 10), total_of("chunks", allocator, way " brute", 6),
        cell(quickest("chunks", allocator, way " brute", "Total") / nice, 8, 2),
        cell(quickest("chunks", allocator, way " nice", "faults"), 8, 0),
        cell(quickest("chunks", allocator, way " new pool", "faults"), 10, 0),
        cell(quickest("chunks", allocator, way " brute", "faults"), 7, 0)
}

# ---- Small objects ----

function small(    i, j, n, variants, allocator)
{
    title("1,000,000 objects of 8 bytes, each allocated, written and freed: ns of processor time")
    if (sizes["small C++"] > 0) {
        printf "  %-42s%10s%14s\n", "C++, over the system's malloc", "kept", "as optimised"
        for (i = 1; i <= sizes["small C++"]; i++)
            printf "  %-42s%s%s\n", members["small C++", i],
                cell(quickest("small", "C++", members["small C++", i], "kept"), 10, 1),
                cell(quickest("small", "C++", members["small C++", i], "optimised"), 14, 1)
        print "  kept: every call is made; as optimised: 0.0 means that the compiler removed them\n"
    }
    n = split("malloc of an array once|malloc/free|general pool|item pool|item pool destroyed as a whole",
        variants, "|")
    printf "  %-24s%10s%10s%10s%10s%12s\n", "C, over", "one array", "malloc/", "general", "item", "item pool,"
    printf "  %-24s%10s%10s%10s%10s%12s\n", "", "", "free", "pool", "pool", "all at once"
    for (i = 1; i <= sizes["small"]; i++) {
        allocator = members["small", i]
        if (allocator == "C++")
            continue
        printf "  %-24s", allocator
        for (j = 1; j <= n; j++)
            printf "%s", cell(quickest("small", allocator, variants[j], "kept"), j < n ? 10 : 12, 1)
        print ""
    }
}

# ---- Zeroed memory ----

function sizes_of(allocator, variant, label,    bytes)
{
    printf "  %-24s%-18s", label, allocator
    for (bytes = 100; bytes <= 1000000; bytes *= 10)
        printf "%s", cell(quickest("zeroed", allocator, variant, bytes ""), 11, bytes <= 1000 ? 1 : 0)
    print ""
}

function header(label)
{
    printf "\n  %-42s%11s%11s%11s%11s%11s\n", label, "100", "1,000", "10,000", "100,000", "1,000,000"
}

function each_allocator(variant, label,    i)
{
    for (i = 1; i <= sizes["zeroed"]; i++)
        if (members["zeroed", i] != "C++")
            sizes_of(members["zeroed", i], variant, label)
}

function zeroed(    i)
{
    title("Zeroed memory: ns of processor time for each block of so many bytes")
    print "  100,000 blocks, fewer where that is more than 200 MB; fresh: 4,096, or 32 MB"
    if (sizes["zeroed C++"] > 0) {
        header("C++: allocated, zeroed, freed")
        for (i = 1; i <= sizes["zeroed C++"]; i++)
            sizes_of("C++", members["zeroed C++", i], members["zeroed C++", i])
    }
    header("each freed before the next: reused memory")
    each_allocator("reused malloc+memset", "malloc + memset")
    each_allocator("reused calloc", "calloc")
    each_allocator("reused calloc touched", "calloc, pages touched")
    header("none freed: fresh memory")
    each_allocator("fresh malloc+memset", "malloc + memset")
    each_allocator("fresh calloc", "calloc")
    each_allocator("fresh calloc touched", "calloc, pages touched")
}

END {
    if (sizes["lists"] > 0) {
        lists()
        chunks()
    }
    if (sizes["small"] > 0)
        small()
    if (sizes["zeroed"] > 0)
        zeroed()
    if (rounds() > 1)
        printf "\nThe quickest of the rounds; the median round took %.0f %% longer%s\n", disturbance(),
            (disturbance() > 30) ? ": run it again when the machine is less busy" : ""
}
