# ladder.awk - of the ranking: NAME MEAN LOW HIGH COLOUR for each allocator that finished.

known($2) && $1 != "harness" {
    printf "\"%s\" %g %g %g %d\n", shown($1), $2, or_else($3, $2), or_else($4, $2), tint($1)
}
