# Cost against a number, both axes logarithmic. Data: a block for each line: X Y COLOUR "NAME"
load "bench/report/style.gp"
set logscale xy
set grid xtics ytics lc rgb "#8a8f98" lw 0.5 dt 3
set border 3
set ytics scale 0.5 enhanced
set format x "10^{%L}"
set format y "10^{%L}"
set xlabel xtext
set ylabel ytext offset 1,0
set key outside top center horizontal maxrows 4 samplen 1.5 textcolor rgb "black"
plot for [i = 0:blocks - 1] data index i using 1:2 with linespoints lw 2 pt 7 ps 0.5 \
    lc rgb colour[int(word(colours, i + 1))] title word(names, i + 1)
