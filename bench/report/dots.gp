# One row for each workload or trace, one dot for each allocator, on a log axis. Data: a block for each
# allocator (a blank pair of lines between): ROW X LOW HIGH COLOUR ROWNAME
load "bench/report/style.gp"
set logscale x
set yrange [rows - 0.4:-0.6]
set lmargin 13
set format x "%g"
set xlabel xtext
set key outside top center horizontal maxrows 4 samplen 0.5 textcolor rgb "black"
set arrow from 1, graph 0 to 1, graph 1 nohead lc rgb "#8a8f98" lw 1.5
set ytics ()
do for [i = 1:rows] { set ytics add (word(rownames, i) i - 1) }
lane(i) = (i - (blocks - 1) / 2.0) * 0.75 / blocks
# The peers share a colour, and each has a shape of its own.
array shape[9] = [5, 9, 11, 13, 15, 4, 8, 10, 12]
seen = 0
shapes = ""
do for [i = 1:blocks] { if (int(word(colours, i)) == 8) { seen = seen + 1; shapes = shapes . " " . shape[(seen - 1) % 9 + 1] } \
    else { shapes = shapes . " 7" } }
plot for [i = 0:blocks - 1] data index i using 2:($1 + lane(i)):3:4:(colour[int($5)]) \
    with xerrorbars lc rgb variable pt int(word(shapes, i + 1)) ps 0.55 lw 1.5 notitle, \
    for [i = 0:blocks - 1] NaN with points pt int(word(shapes, i + 1)) ps 1 lc rgb colour[int(word(colours, i + 1))] \
    title word(names, i + 1)
