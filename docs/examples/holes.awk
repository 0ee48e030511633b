# awk -v n=1000 -f docs/examples/holes.awk: n free blocks of 64 bytes that cannot merge, then 100 requests that fit none.
BEGIN {
    for (i = 1; i <= n; i++)
        print "a", i, 64 "\na", n + i, 16
    for (i = 1; i <= n; i++)
        print "f", i
    for (i = 1; i <= 100; i++)
        print "a", 2 * n + i, 5000
}
