#!/bin/sh
# report.sh FOLDER - draws what the suites measured: FOLDER/report/index.html, and an SVG file for each chart.
# FOLDER is what make built; the measurements are the CSV files in FOLDER/bench. What was not measured is named, with
# the command that measures it. In bench/report/ an awk program for each chart picks the figures, and gnuplot draws
# them; jq reads the intervals of the ranking.
set -eu
measured=$1/bench out=$1/report
page=$out/index.html

for tool in gnuplot jq; do
    command -v $tool > /dev/null || { echo "the report needs $tool; type: make setup" >&2; exit 2; }
done
mkdir -p "$out"
rm -f "$out"/*.svg "$out"/*.dat

# ---- Drawing ----

# What a chart draws, from a suite's CSV by the awk program of the chart's name or another.
pick() # CHART CSV [PROGRAM [OPTION...]]
{
    chart=$1 csv=$2 program=${3:-$1}
    shift $(($# < 3 ? $# : 3))
    awk "$@" -f bench/report/names.awk -f "bench/report/$program.awk" "$measured/$csv" > "$out/$chart.dat"
}

# Draws CHART.dat as CHART.svg, with one of the gnuplot programs.
draw() # CHART KIND HEIGHT SETTINGS
{
    # Without these, gnuplot would draw nothing and say little.
    grep -q '^[^#]' "$out/$1.dat" || { echo "report: there is nothing to draw for $1; measure it again" >&2; exit 1; }
    gnuplot -e "out='$out/$1.svg'; data='$out/$1.dat'; height=$3; $4" "bench/report/$2.gp"
    finish "$1"
}

# Colours by the reader's own light or dark setting, and names that differ from one chart to the next.
finish() # CHART
{
    own_colours='<style>svg { color: #20242b; background: #fff }'
    own_colours="$own_colours @media (prefers-color-scheme: dark) { svg { color: #dfe3ea; background: #16191f } }<\/style>"
    sed -i \
        -e "s/stroke='black'/stroke='currentColor'/g; s/fill=\"black\"/fill=\"currentColor\"/g" \
        -e "s/color=\"black\"//g; s/rgb( *0, *0, *0)/currentColor/g" \
        -e "s/gpPt/$1-pt/g; s/gpDot/$1-dot/g; s/id='textbox'/id='$1-textbox'/; s/id='greybox'/id='$1-greybox'/" \
        -e "0,/^>/s//>\n$own_colours/" \
        -e "s/<title>Gnuplot<\/title>//; /<desc>/d; s/gnuplot_canvas/$1-canvas/" "$out/$1.svg"
}

# How many rows a chart of bars has, and how high it must be.
rows_of() # CHART
{
    wc -l < "$out/$1.dat"
}

height() # CHART BESIDES EACH
{
    echo $(($2 + $3 * $(rows_of "$1")))
}

# The axis of a chart of bars: from below the least figure to well above the largest, where its own figure stands.
axis() # CHART: the figures are in the first column after the name in quotes
{
    awk -F '" ' '{ split($2, x, " "); v = x[1] + 0; if (!m || v < m) m = v; if (v > M) M = v }
        END { printf "least=%g; most=%g", m / 1.5, M * 3 }' "$out/$1.dat"
}

# Words of each block of a .dat file for a legend, from its comment lines `# COLOUR NAME`.
legend() # CHART
{
    awk '/^# / { n++; colours = colours " " $2; $1 = $2 = ""; sub(/^ +/, ""); names = names " \"" $0 "\"" }
        END { printf "blocks=%d; colours=\"%s\"; names='\''%s'\''", n, colours, names }' "$out/$1.dat"
}

# The rows of a chart of dots, in order.
rows() # CHART
{
    awk '!/^#/ && NF == 6 && !($1 in name) { name[$1] = $6; n++ }
        END { printf "rows=%d; rownames=\"", n; for (i = 0; i < n; i++) printf "%s ", name[i]; printf "\"" }' "$out/$1.dat"
}

# ---- The charts: one function each, as section() calls them ----

of_system='as a multiple of the system’s malloc'

ladder()
{
    jq -r '"name,mean,low,high",
        (.allocators[] | .name + (.geometric_mean_of_seven | ",\(.median),\(.low),\(.high)"))' \
        "$measured/results.json" > "$measured/ladder.csv"
    pick ladder ladder.csv
    draw ladder bars "$(height ladder 90 30)" "rows=$(rows_of ladder); $(axis ladder); xtext='time, $of_system'"
    figure ladder 'Time of each stage against the system’s malloc'
}

ratios()
{
    pick ratios results.csv
    draw ratios dots 700 "$(rows ratios); $(legend ratios); xtext='time, $of_system'"
    figure ratios 'Time on each workload against the system’s malloc'
}

growth_of() # live|free WORDS HEADING
{
    pick "growth-$1" growth.csv growth -v kind="$1"
    draw "growth-$1" lines 430 "$(legend "growth-$1"); xtext='$2'; ytext='nanoseconds'"
    figure "growth-$1" "Time against $1 blocks" "$3"
}

growth()
{
    growth_of live 'live blocks of 64 bytes' 'A malloc and free beside many live blocks'
    growth_of free 'free blocks of mixed sizes, 1 in 33 large enough' 'A malloc among many free blocks'
}

space()
{
    pick space space.csv
    draw space stacked "$(height space 190 19)" "rows=$(rows_of space)"
    figure space 'Parts of the heap'
}

ablation()
{
    pick ablation ablation.csv
    draw ablation bars "$(height ablation 90 30)" "rows=$(rows_of ablation); $(axis ablation); xtext='time, $of_system'"
    figure ablation 'Time of each idea with and without validation'
}

traces()
{
    pick traces traces.csv
    draw traces dots 860 "$(rows traces); $(legend traces); xtext='calls per second, $of_system'"
    figure traces 'Speed on traces of real programs'
}

lists()
{
    pick lists classics.csv
    draw lists plain "$(height lists 90 28)" \
        "rows=$(rows_of lists); $(axis lists); margin=24; xtext='nanoseconds for each node, built and removed'"
    figure lists 'Time for each list node' 'A list of 65,536 nodes'
}

small()
{
    pick small classics.csv
    sort -t '"' -k 3g -o "$out/small.dat" "$out/small.dat"
    draw small plain "$(height small 90 26)" \
        "rows=$(rows_of small); $(axis small); margin=29; xtext='nanoseconds for each object of 8 bytes'"
    figure small 'Time for each small object' 'Objects of 8 bytes'
}

zeroed()
{
    pick zeroed classics.csv
    draw zeroed lines 400 "$(legend zeroed); xtext='bytes'; ytext='nanoseconds for each block'"
    figure zeroed 'Time for each zeroed block' 'Zeroed memory, fresh from the system: calloc need not clear what is zero'
}

instructions()
{
    pick instructions instructions.csv
    draw instructions plain "$(height instructions 90 28)" \
        "rows=$(rows_of instructions); $(axis instructions); margin=17; xtext='instructions for malloc(64) and free'"
    figure instructions 'Instructions for a malloc and free'
}

predictions()
{
    pick predictions predictions.csv
    echo "<div class=wide><table>"
    cat "$out/predictions.dat"
    echo "</table></div>"
}

# ---- The page ----

missing=
have() # FILE COMMAND
{
    [ -s "$measured/$1" ] && return
    missing="$missing    $2
"
    return 1
}

# A section with a heading and a text; its charts are drawn by the functions of the same names, if FILE was measured.
section() # HEADING FILE COMMAND TEXT CHART...
{
    echo "<h2>$1</h2><p>$4</p>"
    if ! have "$2" "$3"; then
        echo "<p class=absent>Not measured yet. Type <code>$3</code>, then <code>make report</code>.</p>"
        return
    fi
    shift 4
    for part; do
        $part
    done
}

figure() # NAME WHAT [HEADING]
{
    [ -z "${3-}" ] || echo "<h3>$3</h3>"
    echo "<figure role=img aria-label=\"$2\">"
    sed -n '/^<svg/,$p' "$out/$1.svg" | sed '/^<style>/d'
    echo "</figure>"
}

{
    cat bench/report/head.html
    if [ -s "$measured/results.json" ]; then
        jq -r '"<p class=machine>\(.machine); \(.compiler), \(.flags); commit \(.commit); \(.date), \(.rounds) rounds</p>"' \
            "$measured/results.json"
    fi
    section 'The ladder' results.json 'make bench' "Geometric mean over the seven workloads of the time, as a multiple \
of the system’s malloc. Left of 1 is faster. The thin bars are 95 % intervals. <em>bump</em> and <em>freelist</em> are \
limits, not allocators." ladder
    section 'Predicted and measured' predictions.csv 'make bench suite=predictions' "What the project behind this course \
predicted of each phase, and what is measured here. A speed-up is the time before divided by the time after." predictions
    section 'Workload by workload' results.csv 'make bench' "Each dot is the median of ratios taken within \
a round, its bar the 95 % interval." ratios
    section 'One idea at a time' ablation.csv 'make bench suite=ablation' "Each data structure with every call checking \
the whole heap, and without. While every call walks the heap, a better structure buys little: Amdahl’s law." ablation
    section 'Growth' growth.csv 'make bench suite=growth' "A flat line is O(1). A line that climbs one decade for each \
decade is O(n)." growth
    section 'Where the bytes are' space.csv 'make bench suite=space' "The heap when most of it is payload, by what the \
bytes are for; one row for each stage (with *: it was too slow, and was stopped on the way). Payload is the only part \
that the program asked for." space
    section 'Instructions' instructions.csv 'make bench-instructions' "Counted by callgrind, the workload’s own \
subtracted." instructions
    section 'Traces of real programs' traces.csv 'make bench suite=traces' "Right of 1 is faster than the system’s malloc. \
Bars are 95 % intervals. Where a dot is missing, the stage was too slow and was stopped. The last five are made to be hard." traces
    section 'The classics' classics.csv 'make bench suite=classics' "A pool is destroyed as a whole (brute) or emptied \
node by node (nice)." lists small zeroed
    echo '</main>'
} > "$page.new"
mv "$page.new" "$page"
rm -f "$out"/*.dat

echo "$page, and $(find "$out" -name '*.svg' | wc -l) SVG files beside it"
if [ -n "$missing" ]; then
    printf 'not measured yet; type, and then make report again:\n%s' "$(printf '%s' "$missing" | sort -u)"
    echo
fi
