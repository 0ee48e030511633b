# instructions.awk - of instructions.csv: NAME INSTRUCTIONS COLOUR, for a malloc and its free, without the workload's own.

$column["workload"] == "pair" {
    amount[$1] = 2 * $column["amount"] / $column["calls"]
    if ($1 != "harness")
        name[++names] = $1
}

END {
    for (i = 1; i <= names; i++)
        printf "\"%s\" %.3g %d\n", shown(name[i]), amount[name[i]] - amount["harness"], tint(name[i])
}
