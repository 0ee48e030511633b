# ablation.awk - of ablation.csv: NAME MEAN MEAN MEAN COLOUR, the geometric mean of the ratios to the system's malloc.

$1 != "system" && known($column["ratio"]) {
    if (!($1 in n))
        name[++names] = $1
    sum[$1] += log($column["ratio"])
    n[$1]++
}

END {
    for (i = 1; i <= names; i++) {
        idea = name[i]
        checked = sub(/\+check/, ", checked", idea)
        mean = exp(sum[name[i]] / n[name[i]])
        printf "\"%s\" %g %g %g %d\n", idea, mean, mean, mean, checked ? 1 : 5
    }
}
