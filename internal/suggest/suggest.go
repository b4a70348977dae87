// Package suggest finds the word that was meant.
package suggest

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// longest is how long a word may be to be compared at all.
const longest = 256

// most is how many words are told.
const most = 40

// DidYouMean returns `did you mean "timeout"?` for the known word nearest to
// the one that was written, or the shortest that begins with it; else the words
// that are known.
func DidYouMean(word string, known iter.Seq[string]) string {
	words := slices.Compact(slices.Sorted(known))
	best, bestDistance := "", 1+max(1, len(word)/3)
	if len(word) > longest { // a word that long is none of them, and comparing would take its time
		bestDistance = 0
	}
	for _, k := range words {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" && len(word) > 1 {
		for _, k := range words {
			if strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) && (best == "" || len(k) < len(best)) {
				best = k
			}
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(words) == 0:
		return "there are none"
	case len(words) > most:
		return fmt.Sprintf("known are %s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	default:
		return "known are " + strings.Join(words, ", ")
	}
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int // two rows up, for swaps
	row := make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		next := make([]int, len(t)+1)
		next[0] = i + 1
		for j := range t {
			change := 1
			if s[i] == t[j] {
				change = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+change)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(t)]
}
