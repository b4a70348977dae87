package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/defaults"
)

// openTimes compares how long the breaker was open each time.
type openTimes struct {
	list    token    // all of them, as one
	times   []string // ? is one that is not known yet
	forEver bool     // the last one repeats
}

// maxOpenTimes is how many of them an update writes: more belong in no line.
const maxOpenTimes = 100

func (p *parser) openTimes() item {
	o := openTimes{list: p.peek()}
	for p.peek().kind == word && !o.forEver {
		o.list.end = p.peek().end
		if o.forEver = len(o.times) > 0 && p.take("..."); o.forEver {
			break
		}
		v := p.value(durations)
		if v.text != "?" {
			v.text = defaults.Short(time.Duration(v.n))
		}
		o.times = append(o.times, v.text)
	}
	if len(o.times) == 0 {
		p.fault(p.peek(), "here must be durations", "write them like open times 5s 10s 20s 30s ...")
	}
	o.list.text = p.lines[p.line-1][o.list.start:o.list.end]
	return o
}

func (o openTimes) check(r *run, found *[]Mismatch) {
	var was []string
	for _, t := range r.sinceMark() {
		if t.To == recloser.Open {
			was = append(was, defaults.Short(t.OpenFor))
		}
	}
	want := slices.Clone(o.times)
	for o.forEver && len(want) < len(was) {
		want = append(want, want[len(want)-1])
	}
	if slices.Equal(was, want) {
		return
	}
	m := Mismatch{Want: "open times " + o.list.text, Seen: "never"}
	if n := len(was); n > 0 {
		if o.forEver {
			for ; n > 1 && was[n-1] == was[n-2]; n-- {
			}
			was = append(was[:n], "...")
		}
		m.Seen = strings.Join(was, " ")
		if n <= maxOpenTimes {
			m.replace = &o.list
		}
	}
	*found = append(*found, m)
}
