# Counts words and who follows whom: one large array of strings that grow.
{
    for (i = 1; i <= NF; i++) {
        n++
        count[$i]++
        followers[last] = followers[last] " " substr($i, 2)
        last = $i
    }
}
END {
    PROCINFO["sorted_in"] = "@ind_str_asc"
    print n, length(count)
    for (word in count)
        if (++shown % 97 == 0)
            print word, count[word], length(followers[word])
}
