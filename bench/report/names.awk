# names.awk - what the awk programs of the charts share. Each reads a suite's CSV and prints what gnuplot draws.
# The first line of a CSV names its columns: column["ratio"] is the number of the one named ratio.

BEGIN { FS = "," }

/^#/ { next }
!header { header = 1; for (i = 1; i <= NF; i++) column[$i] = i; next }

# The number of a colour in style.gp.
function tint(name)
{
    if (name ~ /^(stage )?[1-6]/) {
        sub(/^stage /, "", name)
        return substr(name, 1, 1)
    }
    if (name ~ /^my[1-6]/)
        return substr(name, 3, 1)
    return name == "system" ? 7 : name == "bump" || name == "freelist" || name == "harness" ? 9 : 8
}

# As a chart shows it: "5 boundary-tags".
function shown(name)
{
    sub(/-/, " ", name)
    return name
}

# Short: "stage 5".
function brief(name)
{
    if (name ~ /^[0-9]/)
        sub(/-.*/, "", name)
    return name ~ /^[0-9]/ ? "stage " name : name
}

function known(x)
{
    return x ~ /^[0-9]/ && x > 0 # not nan
}

function or_else(x, other)
{
    return known(x) ? x : other
}

# Blocks of a chart with a legend: a comment with colour and name, two blank lines between.
function block(name, colour)
{
    printf "%s# %d %s\n", blocks++ ? "\n\n" : "", colour, name
}

# Keeps the least of several measurements.
function least_of(table, key, x)
{
    if (!(key in table) || x + 0 < table[key])
        table[key] = x + 0
}
