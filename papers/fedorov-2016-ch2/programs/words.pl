#!/usr/bin/perl
# A concordance: where each word stands, which follow it, and sentences mixed from both.
# Usage: words.pl FILE
use strict;
use warnings;

my ( %count, %lines, %after );
open my $file, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
while ( my $line = <$file> ) {
    my $before = '';
    for my $word ( map { lc } $line =~ /\b([A-Za-z]{2,})\b/g ) {
        $count{$word}++;
        push @{ $lines{$word} }, $. if @{ $lines{$word} // [] } < 20;
        $after{$before}{$word}++;
        $before = $word;
    }
}
for my $word ( sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count ) {
    my @next = sort { $after{$word}{$b} <=> $after{$word}{$a} || $a cmp $b } keys %{ $after{$word} };
    splice @next, 5 if @next > 5;
    printf "%-12s %6d  %s  %s\n", $word, $count{$word}, join( ',', @next ), join( ' ', @{ $lines{$word} } );
}
