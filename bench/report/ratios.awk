# ratios.awk - of results.csv: ROW RATIO LOW HIGH COLOUR WORKLOAD, a block for each allocator.

{ ratio = $column["ratio"] }

$1 == "system" || $1 == "bump" || $1 == "harness" || !known(ratio) { next }

!($2 in row) { row[$2] = rows++ }

$1 != last { block(brief($1), tint($1)); last = $1 }

{
    print row[$2], ratio, or_else($column["ratio_low"], ratio), or_else($column["ratio_high"], ratio), tint($1), $2
}
