# growth.awk - tables of growth.csv, and how the cost grows: the slope of a line through the points on log-log
# axes, by least squares. A slope of 1 is O(n), of 0 is O(1).

BEGIN { FS = "," }

FNR == 1 { next }

{
    add("allocators", $1)
    add("numbers", $3)
    if ($6 != "")
        note[$2, $1] = $6 ~ /^would/ ? \
            sprintf("%s stops before %d blocks, which %s; limit= gives it longer.\n", $1, $3, $6) : \
            sprintf("%s with %d blocks %s.\n", $1, $3, $6)
    if ($4 != "")
        keep("ns", $2, $1, $3, $4)
    if ($5 != "")
        keep("visits", $2, $1, $3, $5)
}

# Of several lines the least.
function keep(what, kind, name, n, y)
{
    if (!((what, kind, name, n) in value) || y + 0 < value[what, kind, name, n])
        value[what, kind, name, n] = y + 0
}

function point(what, kind, name, n, y,    key, lx, ly)
{
    key = what SUBSEP kind SUBSEP name
    lx = log(n)
    ly = log(what == "visits" ? 1 + y : y)
    points[key]++
    sum_x[key] += lx
    sum_y[key] += ly
    sum_xx[key] += lx * lx
    sum_xy[key] += lx * ly
}

END {
    for (k in value) {
        split(k, part, SUBSEP)
        point(part[1], part[2], part[3], part[4], value[k])
    }
    show("live", "a malloc(64) and free, beside so many live blocks of 64 bytes")
    show("free", "a malloc, among so many free blocks of mixed sizes of which 1 in 33 is large enough")
    print "\nThe slope decides by visits, which are counted; for the system's malloc, by time. 0 is O(1), 1 is O(n): time"
    print "also climbs where the blocks outgrow a cache, and visits do not. Of visits it is the slope of 1 + visits."
}

function show(kind, what,    a, name)
{
    table("ns", kind, "Nanoseconds for " what)
    table("visits", kind, "Blocks looked at for the same")
    printf "\n%-18s %12s %12s\n", "slope", "of time", "of visits"
    for (a = 1; a <= size["allocators"]; a++) {
        name = member["allocators", a]
        printf "%-18s %12s %12s   %s\n", name, figure("%.2f", slope("ns", kind, name)),
            figure("%.2f", slope("visits", kind, name)), verdict(kind, name)
    }
    for (a = 1; a <= size["allocators"]; a++)
        printf "%s", note[kind, member["allocators", a]]
}

function table(what, kind, title,    a, n, key)
{
    printf "\n%s\n%9s", title, "blocks"
    for (a = 1; a <= size["allocators"]; a++)
        printf " %17s", member["allocators", a]
    print ""
    for (n = 1; n <= size["numbers"]; n++) {
        printf "%9d", member["numbers", n]
        for (a = 1; a <= size["allocators"]; a++) {
            key = what SUBSEP kind SUBSEP member["allocators", a] SUBSEP member["numbers", n]
            printf " %17s", key in value ? figure(value[key] < 100 ? "%.1f" : "%.0f", value[key]) : "-"
        }
        print ""
    }
}

# "" where there are too few points for a line.
function slope(what, kind, name,    key, n)
{
    key = what SUBSEP kind SUBSEP name
    n = points[key]
    return n < 3 ? "" : (n * sum_xy[key] - sum_x[key] * sum_y[key]) / (n * sum_xx[key] - sum_x[key] ^ 2)
}

function verdict(kind, name,    s)
{
    s = slope("visits", kind, name)
    if (s == "")
        s = slope("ns", kind, name)
    return s == "" ? "too few points" : s < 0.25 ? "O(1)" : s > 0.85 && s < 1.15 ? "O(n)" : sprintf("about n^%.1f", s)
}

function figure(format, x)
{
    return x == "" ? "-" : sprintf(format, x)
}

function add(set, v)
{
    if ((set, v) in known)
        return
    known[set, v] = 1
    member[set, ++size[set]] = v
}
