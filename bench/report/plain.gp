# Bars from a least value on a log axis, each with its figure. Data: NAME X COLOUR
load "bench/report/style.gp"
set logscale x
set yrange [rows - 0.4:-0.6]
set xrange [least:most]
set lmargin margin
set rmargin 9
set format x "%g"
if (most / least < 300) { set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) }
set xlabel xtext
plot data using 2:0:(least):2:($0 - 0.36):($0 + 0.36):(colour[int($3)]):yticlabels(1) with boxxyerror lc rgb variable, \
    data using 2:0:(sprintf("  %.3g", $2)) with labels left tc rgb "black"
