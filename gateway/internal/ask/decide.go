package ask

import "github.com/recloser-go/recloser/gateway/internal/config"

// Answer is what an ask comes to.
type Answer string

// The answers. Unknown lets nobody in.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// tally is how many members said what.
type tally struct{ yes, no, silent, pending int }

func count(members []Member) (t tally) {
	for _, m := range members {
		switch m.Result {
		case SaidYes:
			t.yes++
		case SaidNo:
			t.no++
		case Pending:
			t.pending++
		case Failed, Refused, TimedOut, Released:
			t.silent++
		}
	}
	return t
}

// needed returns how many of the members must say yes.
func needed(rule *config.Ask, members int) int {
	switch rule.Decide {
	case config.All:
		return max(1, members) // nobody is not everybody
	case config.Quorum:
		return rule.Quorum
	case config.FirstYes:
	}
	return 1
}

// decide returns the answer, and false as long as it is not certain. Once need
// cannot be reached any more it is certain: the members still to come could make
// a no of an unknown, and both let nobody in.
func (t tally) decide(need int) (Answer, bool) {
	all := t.yes + t.no + t.silent + t.pending
	switch {
	case need > all:
		return Unknown, true
	case t.yes >= need:
		return Yes, true
	case t.no > all-need:
		return No, true
	case t.yes+t.pending < need:
		return Unknown, true
	}
	return "", false
}
