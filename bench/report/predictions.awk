# predictions.awk - of predictions.csv: the rows of an HTML table. On a narrow page each cell says what it is.

BEGIN {
    split("step on predicted measured spread verdict", title, " ")
    title[5] = "by workload"
    printf "<tr>"
    for (i = 1; i <= 6; i++)
        printf "<th>%s", title[i]
    print ""
}

{
    sub(/ > /, " → ", $1)
    printf "<tr><td>%s<td>%s", $1, $2
    for (i = 3; i <= 6; i++) {
        sub(/ x$/, " ×", $i)
        printf "<td%s data-is=\"%s\">%s", i < 6 ? " class=number" : "", title[i], $i
    }
    print ""
}
