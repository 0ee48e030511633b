# Bars from a least value on a log axis, each with its figure. Data: NAME X COLOUR
load "bench/report/style.gp"
set logscale x
set yrange [rows - 0.4:-0.6]
set xrange [least:most]
set lmargin margin
set rmargin 9
set format x "%g"
set xlabel xtext
plot data using 2:0:(least):2:($0 - 0.36):($0 + 0.36):(colour[int($3)]):yticlabels(1) with boxxyerror lc rgb variable, \
    data using 2:0:(sprintf("  %.3g", $2)) with labels left tc rgb "black"
