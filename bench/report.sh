#!/bin/sh
# report.sh FOLDER - draws what the suites measured: FOLDER/report/index.html, and an SVG file for each chart.
# FOLDER is what make built; the measurements are the CSV files in FOLDER/bench. What was not measured is named, with the command
# that measures it. gnuplot draws, jq reads the intervals of the ranking.
set -eu
measured=$1/bench out=$1/report
page=$out/index.html

for tool in gnuplot jq; do
    command -v $tool > /dev/null || { echo "the report needs $tool; type: make setup" >&2; exit 2; }
done
mkdir -p "$out"
rm -f "$out"/*.svg "$out"/*.dat

# For awk: the number of an allocator's colour, and its name as a chart shows it.
names='
    function tint(name) {
        sub(/^stage /, "", name)
        return name ~ /^[1-6]/ ? substr(name, 1, 1) : name ~ /^my[1-6]/ ? substr(name, 3, 1) : \
            name == "system" ? 7 : name == "bump" || name == "freelist" || name == "harness" ? 9 : 8
    }
    function known_number(x) { return x ~ /^[0-9]/ && x > 0 } # not nan
    function shown(name) { sub(/-/, " ", name); return name }
'

# Colours by the reader's own light or dark setting, and names that differ from one chart to the next.
finish() # CHART
{
    sed -i -e "s/stroke='black'/stroke='currentColor'/g; s/fill=\"black\"/fill=\"currentColor\"/g; s/color=\"black\"//g; s/rgb( *0, *0, *0)/currentColor/g" \
        -e "s/gpPt/$1-pt/g; s/gpDot/$1-dot/g; s/id='textbox'/id='$1-textbox'/; s/id='greybox'/id='$1-greybox'/" \
        -e '0,/^>/s//>\n<style>svg { color: #20242b; background: #fff } @media (prefers-color-scheme: dark) { svg { color: #dfe3ea; background: #16191f } }<\/style>/' \
        -e 's/<title>Gnuplot<\/title>//; /<desc>/d; s/gnuplot_canvas/'"$1"'-canvas/' "$out/$1.svg"
}

draw() # CHART KIND HEIGHT SETTINGS
{
    # Without these, gnuplot would draw nothing and say little.
    [ -s "$out/$1.dat" ] || { echo "report: there is nothing to draw for $1" >&2; exit 1; }
    gnuplot -e "out='$out/$1.svg'; data='$out/$1.dat'; height=$3; $4" "bench/report/$2.gp"
    finish "$1"
}

# Words of each block of a .dat file for a legend, from its comment lines `# COLOUR NAME`.
legend() # FILE
{
    awk '/^# / { n++; colours = colours " " $2; names = names " " $3 }
        END { printf "blocks=%d; colours=\"%s\"; names=\"%s\"", n, colours, names }' "$1"
}

# The rows of a chart of dots, in order.
rows() # FILE
{
    awk '!/^#/ && NF == 6 && !($1 in name) { name[$1] = $6; n++ }
        END { printf "rows=%d; rownames=\"", n; for (i = 0; i < n; i++) printf "%s ", name[i]; printf "\"" }' "$1"
}

missing=
have() # FILE COMMAND
{
    [ -s "$measured/$1" ] && return
    missing="$missing    $2
"
    return 1
}

# ---- The charts ----

ladder()
{
    jq -r '.allocators[] | [.name, (.geometric_mean_of_seven | .median, .low // .median, .high // .median)] | @tsv' \
        "$measured/results.json" | awk -F '\t' "$names"' $2 != "" && $1 != "harness" {
            printf "\"%s\" %g %g %g %d\n", shown($1), $2, $3, $4, tint($1) }' > "$out/ladder.dat"
    draw ladder bars $((90 + 30 * $(wc -l < "$out/ladder.dat"))) \
        "rows=$(wc -l < "$out/ladder.dat"); $(awk '{ if (!m || $(NF-2) < m) m = $(NF-2); if ($(NF-1) > M) M = $(NF-1) } END { printf "least=%g; most=%g", m / 1.5, M * 3 }' "$out/ladder.dat"); xtext='time, as a multiple of the system’s malloc'"
    figure ladder 'Time of each stage against the system’s malloc'
}

ratios()
{
    awk -F , "$names"'
        NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        $1 == "system" || $1 == "bump" || $1 == "harness" || !known_number($c["ratio"]) { next }
        !($2 in row) { row[$2] = rows++ }
        $1 != last { printf "%s# %d %s\n", last == "" ? "" : "\n\n", tint($1), $1; last = $1 }
        { low = known_number($c["ratio_low"]) ? $c["ratio_low"] : $c["ratio"]; high = known_number($c["ratio_high"]) ? $c["ratio_high"] : $c["ratio"]
          printf "%d %g %g %g %d %s\n", row[$2], $c["ratio"], low, high, tint($1), $2 }' \
        "$measured/results.csv" > "$out/ratios.dat"
    draw ratios dots 700 "$(rows "$out/ratios.dat"); $(legend "$out/ratios.dat"); xtext='time, as a multiple of the system’s malloc; bars: 95 % interval'"
    figure ratios 'Time on each workload against the system’s malloc'
}

growth_of() # live|free WORDS
{
    awk -F , -v kind="$1" "$names"'$2 == kind && $4 != "" {
        if ($1 != last) { printf "%s# %d %s\n", last == "" ? "" : "\n\n", tint($1), $1; last = $1 }
        print $3, $4 }' "$measured/growth.csv" > "$out/growth-$1.dat"
    draw "growth-$1" lines 430 "$(legend "$out/growth-$1.dat"); xtext='$2'; ytext='nanoseconds'"
}

growth()
{
    growth_of live 'live blocks of 64 bytes'
    growth_of free 'free blocks of mixed sizes, 1 in 33 large enough'
    figure growth-live 'Time against live blocks' 'A malloc and free beside many live blocks'
    figure growth-free 'Time against free blocks' 'A malloc among many free blocks'
}

space()
{
    awk -F , -v loads='live-100k uniform log python3 sqlite3' '
        NR == 1 { next }
        { for (i = 6; i <= 14; i++) part[$1, $2, i] = 100 * $i / $5
          if (!($1 in seen)) { seen[$1]; stage[++stages] = $1 } done[$1, $2] = $4 }
        END {
            for (n = split(loads, load, " "); ++l <= n;) {
                if (!((stage[1], load[l]) in done)) continue
                if (drawn++) print "\"\" 0 0 0 0 0 0 0 0 0"
                for (s = 1; s <= stages; s++) {
                    label = stage[s]; sub(/-.*/, "", label)
                    printf "\"%s, %s%s\"", load[l], label, done[stage[s], load[l]] < 1 ? "*" : ""
                    sum = 0; for (i = 6; i <= 14; i++) printf " %.2f", sum += part[stage[s], load[l], i]
                    print "" } } }' "$measured/space.csv" > "$out/space.dat"
    draw space stacked $((190 + 19 * $(wc -l < "$out/space.dat"))) "rows=$(wc -l < "$out/space.dat")"
    figure space 'Parts of the heap'
}

ablation()
{
    awk -F , "$names"'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        known_number($c["ratio"]) && $1 != "system" { if (!($1 in n)) name[++names] = $1; sum[$1] += log($c["ratio"]); n[$1]++ }
        END { for (i = 1; i <= names; i++) { plain = name[i]; check = sub(/\+check/, "", plain)
            printf "\"%s\" %g %g %g %d\n", plain (check ? ", checked" : ""), x = exp(sum[name[i]] / n[name[i]]), x, x, check ? 1 : 5 } }' \
        "$measured/ablation.csv" > "$out/ablation.dat"
    draw ablation bars $((90 + 30 * $(wc -l < "$out/ablation.dat"))) \
        "rows=$(wc -l < "$out/ablation.dat"); least=0.3; most=600; xtext='time, as a multiple of the system’s malloc'"
    figure ablation 'Time of each idea with and without validation'
}

traces()
{
    awk -F , "$names"'
        NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        { mops[$2, $1] = $c["mops"] }
        !($1 in row) { row[$1] = rows++; trace[rows] = $1 }
        !($2 in seen) { seen[$2]; allocator[++allocators] = $2 }
        END { for (a = 1; a <= allocators; a++) {
            name = allocator[a]
            if (name == "system" || name == "harness") continue
            label = name; sub(/ /, "-", label)
            printf "%s# %d %s\n", drawn++ ? "\n\n" : "", tint(name), label
            for (t = 1; t <= rows; t++)
                if (known_number(mops[name, trace[t]]) && known_number(mops["system", trace[t]])) {
                    x = mops[name, trace[t]] / mops["system", trace[t]]
                    printf "%d %g %g %g %d %s\n", row[trace[t]], x, x, x, tint(name), trace[t] } } }' \
        "$measured/traces.csv" > "$out/traces.dat"
    draw traces dots 820 "$(rows "$out/traces.dat"); $(legend "$out/traces.dat"); xtext='calls per second, as a multiple of the system’s malloc'"
    figure traces 'Speed on traces of real programs'
}

# Of several rounds the quickest, as the tables of the classics have it.
lists()
{
    awk -F , '$1 == "lists" && $4 != "faults" && ($2 == "system" || $2 ~ /^[3-6]-/) {
            key = $2 SUBSEP $3; t[key, $4] += 0
            if ($4 == "Start") round[key]++
            total[key, round[key]] += $6 / $5 }
        END { n = split("malloc nice|pool nice|pool brute|item pool nice|item pool brute", variant, "|")
            for (a in round) { split(a, p, SUBSEP); if (!(p[1] in known)) { known[p[1]]; over[++count] = p[1] } }
            last = "system"; for (i = 1; i <= count; i++) if (over[i] > last || last == "system") last = over[i] == "system" ? last : over[i]
            for (o = 1; o <= 2; o++) { who = o == 1 ? "system" : last
                for (v = 1; v <= n; v++) { best = 0
                    for (r = 1; r <= round[who, variant[v]]; r++) { x = total[who SUBSEP variant[v], r]; if (!best || x < best) best = x }
                    if (best) { label = who; sub(/-.*/, "", label); printf "\"%s, %s\" %g %d\n", variant[v], label == "system" ? label : "stage " label, best, who == "system" ? 7 : 5 } } } }' \
        "$measured/classics.csv" > "$out/lists.dat"
    draw lists plain $((90 + 28 * $(wc -l < "$out/lists.dat"))) "rows=$(wc -l < "$out/lists.dat"); least=1; most=80; margin=24; xtext='nanoseconds for each node, built and removed'"
    figure lists 'Time for each list node' 'A list of 65,536 nodes'
}

small()
{
    awk -F , "$names"'$1 == "small" && $4 == "kept" && $3 !~ /destroy [0-9]+|second pass/ {
            key = ($2 == "C++" ? $3 " (C++)" : $3 == "malloc/free" ? "malloc/free, " shown($2) : $3 == "item pool" && $2 == "system" ? $3 : "")
            if (key == "") next
            x = $6 / $5; tints[key] = $3 == "malloc/free" && $2 != "C++" ? tint($2) : 8
            if (!(key in best) || x < best[key]) best[key] = x }
        END { for (k in best) printf "%g\t\"%s\" %g %d\n", best[k], k, best[k], tints[k] }' "$measured/classics.csv" |
        sort -g | cut -f 2 > "$out/small.dat"
    draw small plain $((90 + 26 * $(wc -l < "$out/small.dat"))) "rows=$(wc -l < "$out/small.dat"); least=0.5; most=200; margin=29; xtext='nanoseconds for each object of 8 bytes'"
    figure small 'Time for each small object' 'Objects of 8 bytes'
}

zeroed()
{
    awk -F , "$names"'$1 == "zeroed" && ($2 == "system" || $2 ~ /^[3-6]-/) && $3 ~ /^fresh (calloc|malloc\+memset)$/ {
            x = $6 / $5; key = $2 SUBSEP $3
            if (!((key, $4) in best) || x < best[key, $4]) best[key, $4] = x
            if ($2 != "system" && $2 > last) last = $2 }
        END { n = split("fresh malloc+memset|fresh calloc", variant, "|"); split("system " last, who, " ")
            for (v = 1; v <= n; v++) for (o = 1; o <= 2; o++) {
                label = variant[v] "-" who[o]; sub(/fresh /, "", label); gsub(/ /, "-", label)
                printf "%s# %d %s\n", drawn++ ? "\n\n" : "", v == 1 ? (o == 1 ? 7 : 1) : (o == 1 ? 4 : 5), label
                for (bytes = 100; bytes <= 1000000; bytes *= 10)
                    if ((who[o], variant[v], bytes) in best) print bytes, best[who[o], variant[v], bytes] } }' \
        "$measured/classics.csv" > "$out/zeroed.dat"
    draw zeroed lines 400 "$(legend "$out/zeroed.dat"); xtext='bytes'; ytext='nanoseconds for each block'"
    figure zeroed 'Time for each zeroed block' 'Zeroed memory, fresh from the system: calloc need not clear what is zero'
}

instructions()
{
    awk -F , "$names"'
        /^#/ { next }
        { n[$1, $2] = $5; calls[$2] = $3; if (!($1 in seen)) { seen[$1]; name[++names] = $1 } }
        END { for (i = 1; i <= names; i++) if (name[i] != "harness" && (name[i], "pair") in n)
            printf "\"%s\" %.3g %d\n", shown(name[i]), (n[name[i], "pair"] - n["harness", "pair"]) / calls["pair"] * 2, tint(name[i]) }' \
        "$measured/instructions.csv" > "$out/instructions.dat"
    draw instructions plain $((90 + 28 * $(wc -l < "$out/instructions.dat"))) "rows=$(wc -l < "$out/instructions.dat"); least=10; most=2000; margin=17; xtext='instructions for malloc(64) and free'"
    figure instructions 'Instructions for a malloc and free'
}

predictions()
{
    echo '<div class=wide><table><tr><th>step<th>on<th>predicted<th>measured<th>by workload<th>verdict'
    awk -F , 'NR > 1 { printf "<tr><td>%s<td>%s<td class=number data-is=predicted>%s<td class=number data-is=measured>%s<td class=number data-is=\"by workload\">%s<td data-is=verdict>%s\n", $1, $2, $3, $4, $5, $6 }' \
        "$measured/predictions.csv" | sed 's/ > / → /; s/ x<td/ ×<td/g'
    echo '</table></div>'
}

# ---- The page ----

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
    section 'Workload by workload' results.csv 'make bench' "Each dot is the median of ratios taken within a round." ratios
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
Where a dot is missing, the stage was too slow and was stopped. The last five are made to be hard." traces
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
