package panel

import (
	"fmt"
	"strings"
)

// headline says in plain words how things are.
type headline struct {
	Text string // "2 of 12 dependencies are cut off"
	Also string // what else is not as usual: "1 on trial, 1 at risk"
	Do   string // what the reader is to do about it; "" if nothing has to be said
}

func newHeadline(rows []row) headline {
	count := make(map[string]int)
	for _, r := range rows {
		count[r.S.Key]++
	}
	byHand, planned, trial := count[isolated], count[inMaintenance], count[halfOpen]
	cutOff := count[open] + byHand + planned

	var h headline
	switch {
	case len(rows) == 0:
		h.Text = "No dependencies are configured"
	case cutOff > 0:
		h.Text = fmt.Sprintf("%d of %s %s cut off", cutOff, dependencies(len(rows)), isOrAre(cutOff))
	case trial > 0:
		h.Text = fmt.Sprintf("%d of %s %s on trial", trial, dependencies(len(rows)), isOrAre(trial))
	case len(rows) == 1:
		h.Text = "The dependency is passing calls"
	default:
		h.Text = fmt.Sprintf("All %d dependencies are passing calls", len(rows))
	}

	if down := count[open] + trial; down > 0 {
		who := form(down, "It is", "They are")
		if byHand+planned > 0 { // those are not
			who = form(down, "The other one is", "The others are")
		}
		h.Do = fmt.Sprintf("%s tried again by %s: there is nothing to press here. Tell the %s.",
			who, form(down, "itself", "themselves"), form(down, "partner", "partners"))
	}

	var also []string
	add := func(n int, what string) {
		if n > 0 {
			also = append(also, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(byHand, "of them by hand")
	add(planned, "of them as planned")
	if cutOff > 0 {
		add(trial, "on trial")
	}
	add(count[atRisk], "at risk")
	add(count[shadowed], "would be cut off (shadow)")
	add(count[heldClosed], "passing by hand")
	h.Also = strings.Join(also, ", ")
	return h
}

func dependencies(n int) string { return countOf(n, "dependency", "dependencies") }

func countOf(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, form(n, one, many))
}

func isOrAre(n int) string { return form(n, "is", "are") }

func doesOrDo(n int) string { return form(n, "does", "do") }

func hasOrHave(n int) string { return form(n, "has", "have") }

func form(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
