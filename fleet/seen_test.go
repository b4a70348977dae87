package fleet

import "testing"

func TestSeenInWords(t *testing.T) {
	for want, s := range map[string]Seen{
		"":                                       {},
		"2 of 3 nodes":                           {By: 2, Of: 3},
		"1 of 1 node":                            {By: 1, Of: 1},
		"gate-2, for all 3 nodes":                {Of: 3, Who: "gate-2"},
		"gate-2, for 1 node":                     {Of: 1, Who: "gate-2"},
		"1 of 3 nodes: gate-1, by its own rules": {By: 1, Of: 3, Who: "gate-1", Own: true},
		"2 of 3 nodes: gate-1, gate-2, each by its own rules":        {By: 2, Of: 3, Who: "gate-1, gate-2", Own: true},
		"gate-1, by its own rules: it does not hear the other nodes": {By: 1, Who: "gate-1", Own: true},
	} {
		if got := s.String(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
	if got := some([]string{"a", "b", "c", "d", "e"}); got != "a, b, c and 2 more" {
		t.Error(got)
	}
}
