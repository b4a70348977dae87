package admin

import (
	"fmt"
	"strings"
)

// maxID is the length of the longest ID of a dependency; a longer word is none.
const maxID = 64

// didYouMean names the known word nearest to the one that was given, and those
// there are.
func didYouMean(word string, known []string) string {
	const enough = 20 // to see the pattern of the names
	list := "known are " + strings.Join(known[:min(len(known), enough)], ", ")
	switch {
	case len(known) == 0:
		return "none is configured"
	case len(known) > enough:
		list += fmt.Sprintf(" and %d more", len(known)-enough)
	}
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, list)
	}
	return list
}

// nearest returns the word that was probably meant, "" if none is near.
func nearest(word string, known []string) string {
	if len(word) > maxID {
		return ""
	}
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is how many bytes must be put in, taken out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
