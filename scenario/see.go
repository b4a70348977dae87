package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/defaults"
)

// state is what the breaker is.
type state struct {
	cond
	automatic bool
}

func (s state) check(r *run, found *[]Mismatch) {
	st := r.stats()
	was := st.State
	if s.automatic {
		was = st.Automatic
	}
	s.checkWord(was.String(), found)
}

// probe asks what would become of a call now. It is taken back.
func (r *run) probe() (refusal *recloser.OpenError, trial bool) {
	permit, err := r.breaker.Allow(r.base)
	trial = permit.Trial()
	permit.Cancel()
	errors.As(err, &refusal)
	return refusal, trial
}

func letThrough(trial bool) string {
	if trial {
		return "let through as a trial"
	}
	return "let through"
}

// refused wants a call to be refused, for a reason if it names one.
type refused struct{ cond }

func (c refused) check(r *run, found *[]Mismatch) {
	refusal, trial := r.probe()
	switch {
	case refusal == nil:
		*found = append(*found, Mismatch{Want: c.String(), Seen: letThrough(trial)})
	case c.want.token != c.token:
		c.checkWord(hyphened(refusal.Reason), found)
	}
}

// passes wants a call to be let through: as a trial, or not.
type passes struct{ token }

func (c passes) check(r *run, found *[]Mismatch) {
	refusal, trial := r.probe()
	if refusal != nil {
		*found = append(*found, Mismatch{Want: c.text, Seen: "refused " + hyphened(refusal.Reason)})
	} else if trial != (c.text == "trial") {
		*found = append(*found, Mismatch{Want: c.text, Seen: letThrough(trial)})
	}
}

// retryAfter compares what a refusal says of the time left.
type retryAfter struct{ cond }

func (c retryAfter) check(r *run, found *[]Mismatch) {
	refusal, trial := r.probe()
	if refusal == nil {
		*found = append(*found, Mismatch{Want: c.String(), Seen: letThrough(trial)})
		return
	}
	left := refusal.RetryAfter()
	c.cond.check(float64(left), 0, defaults.Short(left), found)
}

// counter compares a number.
type counter struct {
	cond
	of string
}

func (c counter) check(r *run, found *[]Mismatch) {
	n := counters[c.of](r)
	if !c.want.percent {
		c.cond.check(n, 0, count(n), found)
		return
	}
	calls := counters["calls"](r)
	if calls == 0 {
		*found = append(*found, Mismatch{Want: c.String(), Seen: "no calls"})
		return
	}
	was := strconv.FormatFloat(100*n/calls, 'g', 4, 64)
	percent, _ := strconv.ParseFloat(was, 64) // as exact as it is written
	c.cond.check(percent, 0, was+"%", found)
}

func count(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// checkCounts compares one of countKeys.
func (k keyed) checkCounts(c recloser.Counts, found *[]Mismatch) {
	bad, judged := float64(c.Bad()), float64(c.Judged())
	if k.key == "bad" {
		k.check(bad, judged, count(bad)+"/"+count(judged), found)
		return
	}
	n := map[string]float64{"good": float64(c.Good), "failed": float64(c.Failed), "slow": float64(c.Slow), "run": float64(c.Run), "judged": judged}[k.key]
	k.check(n, 0, count(n), found)
}

// window compares what a verdict would rest on.
type window struct{ pairs []keyed }

func (w window) check(r *run, found *[]Mismatch) {
	c := r.stats().Window
	for _, k := range w.pairs {
		k.checkCounts(c, found)
	}
}

// event compares the latest event to a state.
type event struct {
	about token
	to    string
	pairs []keyed
	at    *cond
}

func (e event) check(r *run, found *[]Mismatch) {
	r.hear()
	for _, t := range slices.Backward(r.heard) {
		if t.To.String() == e.to {
			e.compare(t, found)
			return
		}
	}
	*found = append(*found, Mismatch{Want: "an event to " + e.to, Seen: "none"})
}

func (e event) compare(t heard, found *[]Mismatch) {
	for _, k := range e.pairs {
		switch k.key {
		case "reason":
			k.checkWord(hyphened(t.Reason), found)
		case "from":
			k.checkWord(t.From.String(), found)
		case "automatic":
			k.checkWord(t.Automatic.String(), found)
		case "step":
			k.check(float64(t.Step), 0, strconv.Itoa(t.Step), found)
		case "number":
			k.check(float64(t.Seq), 0, strconv.FormatUint(t.Seq, 10), found)
		case "suspects":
			k.check(float64(t.Suspects), 0, strconv.Itoa(t.Suspects), found)
		case "lifted":
			k.check(float64(t.Lifted), 0, defaults.Short(t.Lifted), found)
		case "open_for":
			k.check(float64(t.OpenFor), 0, defaults.Short(t.OpenFor), found)
		default:
			k.checkCounts(t.Counts, found)
		}
	}
	if e.at != nil {
		e.at.check(float64(t.at), 0, defaults.Short(t.at), found)
	}
}

// explain wants a text in what the breaker says of itself.
type explain struct{ token }

func (e explain) check(r *run, found *[]Mismatch) {
	if was := r.breaker.Explain(); !strings.Contains(was, e.text) {
		*found = append(*found, Mismatch{Want: fmt.Sprintf("explain %q", e.text), Seen: strconv.Quote(was)})
	}
}

// got compares what became of a call for its caller: of the last one, or of one
// that has a name.
type got struct {
	cond
	name string
}

func (g got) check(r *run, found *[]Mismatch) {
	c := r.last
	if g.name != "" {
		c = r.named[g.name]
	}
	switch {
	case c == nil:
		*found = append(*found, Mismatch{Want: g.String(), Seen: "no call"})
	case c.result == "":
		g.checkWord("nothing", found)
	default:
		g.checkWord(c.result, found)
	}
}
