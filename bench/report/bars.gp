# Bars from 1 to a multiple on a log axis, with an interval if there is one. Data: NAME X LOW HIGH COLOUR
load "bench/report/style.gp"
set logscale x
set yrange [rows - 0.4:-0.6]
set xrange [least:most]
set lmargin 17
set rmargin 9
set format x "%g"
if (most / least < 300) { set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) }
set xlabel xtext
set arrow from 1, graph 0 to 1, graph 1 nohead lc rgb "#8a8f98" lw 1.5
plot data using 2:0:(1):2:($0 - 0.33):($0 + 0.33):(colour[int($5)]):yticlabels(1) with boxxyerror lc rgb variable, \
    data using 2:0:3:4 with xerrorbars lc rgb "black" lw 1 pt 0, \
    data using ($4 > 1 ? $4 : 1):0:(sprintf($2 < 10 ? "  %.2f×" : "  %.3g×", $2)) with labels left tc rgb "black"
