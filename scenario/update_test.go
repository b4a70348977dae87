package scenario

import "testing"

func TestUpdate(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{
		{
			"values of all kinds",
			"settings consecutive=1 jitter=off\n0s  call -> fail\n    expect closed, got ok, retry after 1s, 7 events, window good=7 bad=?, refused isolated\n    expect event open reason=rate bad=7/7 at 9s\n",
			"settings consecutive=1 jitter=off\n0s  call -> fail\n    expect open, got fail, retry after 5s, 1 events, window good=0 bad=0/0, refused open\n    expect event open reason=run bad=1/1 at 0s\n",
		},
		{
			"comments stay where they are",
			"0s  expect open     # the state\n    expect open # no room\n    expect open\t# a tab\n",
			"0s  expect closed   # the state\n    expect closed # no room\n    expect closed\t# a tab\n",
		},
		{"no end of the last line, and another beginning", "\ufeff0s expect open\r\n1s expect open", "\ufeff0s expect closed\r\n1s expect closed"},
		{"conditions stay", "0s expect calls >= 5, explain \"x\", refused, trial\n", "0s expect calls >= 5, explain \"x\", refused, trial\n"},
		{
			"open times, and with those that go on",
			"settings jitter=off max_open_for=5s\n0s  trip for 2s\n2s  call -> fail\n7s  trip for 5s\n    expect open times ?            # all\n    expect open times 1s 2s, calls 7, open times 2s ?\n    expect open times 1s ...       # so on\n    expect open times 2s 5s 6s 6s ...\n    expect open times 2s 5s ...\n",
			"settings jitter=off max_open_for=5s\n0s  trip for 2s\n2s  call -> fail\n7s  trip for 5s\n    expect open times 2s 5s 5s     # all\n    expect open times 2s 5s 5s, calls 1, open times 2s 5s 5s\n    expect open times 2s 5s ...    # so on\n    expect open times 2s 5s ...\n    expect open times 2s 5s ...\n",
		},
		{"more open times than a line should hold", "0s every 2s for 201s: trip for 1s\n300s expect trips 0, open times ?\n", "0s every 2s for 201s: trip for 1s\n300s expect trips 101, open times ?\n"},
		{"of none there is nothing to write", "0s expect open times ?\n", "0s expect open times ?\n"},
		{"of a call that was let through there is nothing to write", "0s expect retry after 5s, refused open\n", "0s expect retry after 5s, refused open\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, c.before)
			got, changed := s.Update([]byte(c.before), mustRun(t, s))
			if string(got) != c.after || (changed > 0) != (c.before != c.after) {
				t.Errorf("%d changed:\n%s\nwant\n%s", changed, got, c.after)
			}
			again := mustParse(t, string(got))
			if _, changed := again.Update(got, mustRun(t, again)); changed > 0 {
				t.Errorf("a second time %d values change", changed)
			}
		})
	}
}
