package ask

import (
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestDecide(t *testing.T) {
	const open = Answer("") // not certain yet
	firstYes := &config.Ask{Decide: config.FirstYes}
	all := &config.Ask{Decide: config.All}
	quorum2 := &config.Ask{Decide: config.Quorum, Quorum: 2}
	tests := []struct {
		name string
		rule *config.Ask
		said tally
		want Answer
	}{
		{"first-yes: one", firstYes, tally{yes: 1, pending: 2}, Yes},
		{"first-yes: one, others failed", firstYes, tally{yes: 1, silent: 2}, Yes},
		{"first-yes: none yet", firstYes, tally{no: 2, silent: 1, pending: 1}, open},
		{"first-yes: all no", firstYes, tally{no: 3}, No},
		{"first-yes: one not heard", firstYes, tally{no: 2, silent: 1}, Unknown},
		{"first-yes: nobody there", firstYes, tally{}, Unknown},
		{"all: all", all, tally{yes: 3}, Yes},
		{"all: not yet", all, tally{yes: 2, pending: 1}, open},
		{"all: one no", all, tally{no: 1, pending: 2}, No},
		{"all: one no, one not heard", all, tally{no: 1, silent: 1, yes: 1}, No},
		{"all: one not heard", all, tally{silent: 1, pending: 2}, Unknown},
		{"all: nobody there", all, tally{}, Unknown},
		{"quorum 2 of 3: two", quorum2, tally{yes: 2, pending: 1}, Yes},
		{"quorum 2 of 3: one", quorum2, tally{yes: 1, no: 1, pending: 1}, open},
		{"quorum 2 of 3: two no", quorum2, tally{no: 2, pending: 1}, No},
		{"quorum 2 of 3: one not heard", quorum2, tally{yes: 1, silent: 1, pending: 1}, open},
		{"quorum 2 of 3: two not heard", quorum2, tally{silent: 2, pending: 1}, Unknown},
		{"quorum 2 of 3: a no and one not heard", quorum2, tally{no: 1, silent: 1, yes: 1}, Unknown},
		{"quorum 2 of 1", quorum2, tally{no: 1}, Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members := tt.said.yes + tt.said.no + tt.said.silent + tt.said.pending
			got, certain := tt.said.decide(needed(tt.rule, members))
			if got != tt.want || certain != (tt.want != open) {
				t.Errorf("got %q, certain: %t; want %q", got, certain, tt.want)
			}
		})
	}
}

// Once an answer is certain, nothing that is still to come may turn a yes or a
// no around, and no unknown may become a yes.
func TestDecideIsFinal(t *testing.T) {
	const most = 4
	var walk func(t tally, need int, was Answer, check func(tally, Answer, Answer))
	walk = func(s tally, need int, was Answer, check func(tally, Answer, Answer)) {
		now, _ := s.decide(need)
		check(s, was, now)
		if s.pending == 0 {
			return
		}
		s.pending--
		for _, next := range []tally{
			{s.yes + 1, s.no, s.silent, s.pending},
			{s.yes, s.no + 1, s.silent, s.pending},
			{s.yes, s.no, s.silent + 1, s.pending},
		} {
			walk(next, need, now, check)
		}
	}
	for members := 1; members <= most; members++ {
		for need := 1; need <= members; need++ {
			walk(tally{pending: members}, need, "", func(s tally, was, now Answer) {
				if (was == Yes || was == No) && now != was || was == Unknown && (now == Yes || now == "") {
					t.Errorf("%d of %d, %+v: %q after %q", need, members, s, now, was)
				}
				if s.pending == 0 && now == "" {
					t.Errorf("%d of %d, %+v: nobody is left and it is not certain", need, members, s)
				}
			})
		}
	}
}
