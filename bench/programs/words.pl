# Counts words and who follows whom: many small strings, arrays and hashes.
use strict;
my (%followers, $last, $n);
while (my $line = <>) {
    for my $word (split ' ', $line) {
        $n++;
        push @{$followers{$last}}, "$word!" if defined $last;
        $last = $word;
    }
}
my @names = sort keys %followers;
print "$n ", scalar @names, "\n";
for (my $i = 0; $i < @names; $i += 97) {
    my %unique = map { $_ => 1 } @{$followers{$names[$i]}};
    print "$names[$i] ", join(",", sort keys %unique), "\n";
}
