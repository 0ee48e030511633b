# growth.awk - of growth.csv: BLOCKS NANOSECONDS, a block for each allocator; -v kind=live or free.

$column["blocks_are"] == kind && known($column["ns"]) {
    if (!($1 in seen)) {
        seen[$1] = 1
        name[++names] = $1
    }
    least_of(ns, $1 SUBSEP $column["blocks"], $column["ns"])
    if (!($column["blocks"] in is_number)) {
        is_number[$column["blocks"]] = 1
        number[++numbers] = $column["blocks"]
    }
}

END {
    for (i = 1; i <= names; i++) {
        block(shown(name[i]), tint(name[i]))
        for (n = 1; n <= numbers; n++)
            if ((name[i], number[n]) in ns)
                print number[n], ns[name[i], number[n]]
    }
}
