# What all charts share. From the caller, with -e: out, data, height, and what a chart needs of its own.
set term svg size 480,height dynamic font "sans-serif,14"
set output out
set border 1 lc rgb "#8a8f98" lw 1
set tics nomirror scale 0.5 textcolor rgb "black"
set ytics scale 0 noenhanced
set grid xtics lc rgb "#8a8f98" lw 0.5 dt 3
set style fill solid 1.0 noborder
unset key

# Colours that stand out from white and from black: stages 1 to 5 (and 6), the system, the rest.
array colour[9] = [0xd5532b, 0xe09c1a, 0xc469a6, 0x3d8fd1, 0x14a37c, 0x7a6fd0, 0x8a8f98, 0x5d9aa3, 0xb3b7bd]
