# Rows of parts of a whole, in percent. Data: NAME and the end of each part, summed up; blank rows part groups.
load "bench/report/style.gp"
array part[9] = [0x14a37c, 0xd5532b, 0xe09c1a, 0xc4ab3c, 0xb3b7bd, 0x3d8fd1, 0x7a6fd0, 0x8a8f98, 0x5d6570]
set yrange [rows - 0.4:-0.6]
set xrange [0:100]
set lmargin 14
set xlabel "percent of the largest heap"
set key outside top center horizontal maxrows 4 samplen 0.7 textcolor rgb "black"
titles = "payload header rounding minimum unsplit holes quick end later"
plot for [i = 1:9] data using 2:0:(i == 1 ? 0 : column(i)):(column(i + 1)):($0 - 0.4):($0 + 0.4):yticlabels(1) \
    with boxxyerror lc rgb part[i] title word(titles, i)
