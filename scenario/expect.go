package scenario

import (
	"maps"
	"slices"
	"strings"

	"github.com/recloser-go/recloser"
)

// item is one thing that a line expects.
type item interface {
	// check adds what is not as expected to the mismatches.
	check(r *run, found *[]Mismatch)
}

// value is what is compared: a number, a duration, a word, or one number of
// another, such as 9/10.
type value struct {
	token
	percent bool
	n       float64 // also of durations; of 9/10 the first
	of      float64
}

// unit says what kind of value something has.
type unit uint8

const (
	numbers unit = iota
	durations
	words // read by is
	ratios
)

// cond compares something with a value.
type cond struct {
	token // what it is about, for messages
	op    string
	want  value
}

// value reads a value; ? stands for one that is not known yet.
func (p *parser) value(u unit) value {
	t := p.next()
	v := value{token: t}
	ok := t.kind == word
	switch {
	case t.text == "?":
		v.n = -1
	case u == durations:
		d, isDuration := duration(t.text)
		v.n, ok = float64(d), ok && isDuration
		if !ok {
			p.isNot(t, "a duration", "write one like 300ms, 5s or 1h30m")
		}
	case u == ratios:
		bad, of, isRatio := strings.Cut(t.text, "/")
		var okBad, okOf bool
		v.n, okBad = number(bad)
		v.of, okOf = number(of)
		if ok = ok && isRatio && okBad && okOf; !ok {
			p.isNot(t, "bad calls of judged ones", "write it like 9/10")
		}
	default:
		digits, percent := strings.CutSuffix(t.text, "%")
		n, isNumber := number(digits)
		v.n, v.percent = n, percent
		if ok = ok && isNumber; !ok {
			p.isNot(t, "a number", "")
		}
	}
	return v
}

// condition reads [OP] VALUE; without an operator it is =.
func (p *parser) condition(about token, u unit) cond {
	c := cond{token: about, op: "="}
	for _, op := range []string{"<=", ">=", "=", "<", ">"} {
		if u != ratios || op == "=" {
			if p.take(op) {
				c.op = op
				break
			}
		}
	}
	c.want = p.value(u)
	return c
}

// is reads [=] WORD; what says what the words are.
func (p *parser) is(about token, what string, known []string) cond {
	p.take("=")
	t := p.next()
	if t.text != "?" && !slices.Contains(known, t.text) {
		p.unknown(t, what, slices.Values(known))
	}
	return cond{token: about, op: "=", want: value{token: t}}
}

// String writes the condition as a file would have it.
func (c cond) String() string {
	s := c.want.text
	if c.op != "=" {
		s = c.op + " " + s
	}
	if c.text != c.want.text {
		s = c.text + " " + s
	}
	return s
}

// check compares and notes a mismatch. was is written as a file would have it.
func (c cond) check(n float64, of float64, was string, found *[]Mismatch) {
	good := false
	switch c.op {
	case "=":
		good = n == c.want.n && of == c.want.of
	case "<":
		good = n < c.want.n
	case ">":
		good = n > c.want.n
	case "<=":
		good = n <= c.want.n
	case ">=":
		good = n >= c.want.n
	}
	if c.want.text == "?" {
		good = false
	}
	c.note(good, was, found)
}

// checkWord compares words.
func (c cond) checkWord(was string, found *[]Mismatch) { c.note(was == c.want.text, was, found) }

func (c cond) note(good bool, was string, found *[]Mismatch) {
	if good {
		return
	}
	m := Mismatch{Want: c.String(), Seen: was}
	if c.op == "=" && !strings.Contains(was, " ") {
		m.replace = &c.want.token
	}
	*found = append(*found, m)
}

// trips are the reasons of an event that opens: what an operator gives back open
// has tripped before.
var trips = []recloser.Reason{
	recloser.ReasonRate, recloser.ReasonRun, recloser.ReasonToldToWait, recloser.ReasonTrialFailed, recloser.ReasonTripped,
	recloser.ReasonSuspected, recloser.ReasonUs, recloser.ReasonProbe,
}

// counters are what can be counted, with how to read each.
var counters = map[string]func(*run) float64{
	"calls":    func(r *run) float64 { return float64(r.load.calls - r.marked.load.calls) },
	"reached":  func(r *run) float64 { return float64(r.load.reached - r.marked.load.reached) },
	"attempts": func(r *run) float64 { return float64(r.load.attempts - r.marked.load.attempts) },
	"refused":  func(r *run) float64 { return float64(r.load.refused - r.marked.load.refused) },
	"good":     func(r *run) float64 { return float64(r.load.good - r.marked.load.good) },
	"bad":      func(r *run) float64 { return float64(r.load.bad - r.marked.load.bad) },
	"running":  func(r *run) float64 { return float64(r.load.running) },
	"most":     func(r *run) float64 { return float64(r.load.most) },

	"succeeded": func(r *run) float64 { return float64(r.stats().Success - r.marked.stats.Success) },
	"failed":    func(r *run) float64 { return float64(r.stats().Failed - r.marked.stats.Failed) },
	"slow":      func(r *run) float64 { return float64(r.stats().Slow - r.marked.stats.Slow) },
	"ignored":   func(r *run) float64 { return float64(r.stats().Ignored - r.marked.stats.Ignored) },
	"late":      func(r *run) float64 { return float64(r.stats().Late - r.marked.stats.Late) },
	"in_flight": func(r *run) float64 { return float64(r.stats().InFlight) },
	"overdue":   func(r *run) float64 { return float64(r.stats().Overdue) },
	"suspects":  func(r *run) float64 { return float64(r.stats().Suspects) },
	"trials":    func(r *run) float64 { return float64(r.stats().Trials) },
	"step":      func(r *run) float64 { return float64(r.stats().Step) },
	"ramp":      func(r *run) float64 { return float64(r.stats().RampLimit) },

	"events": func(r *run) float64 { return float64(len(r.sinceMark())) },
	"trips": func(r *run) (n float64) {
		for _, e := range r.sinceMark() {
			if slices.Contains(trips, e.Reason) {
				n++
			}
		}
		return n
	},
}

// others are the words that an expectation can begin with, besides counters and states.
var others = []string{"automatic", "refused", "passes", "trial", "retry", "window", "event", "explain", "open", "got"}

// item reads one expectation.
func (p *parser) item() item {
	t := p.next()
	if _, isNumber := number(t.text); isNumber && t.kind == word {
		return p.counted(t)
	}
	after := p.peek()
	switch t.text {
	case "open":
		if p.take("times") {
			return p.openTimes()
		}
	case "automatic":
		return state{p.is(t, aState, stateWords()), true}
	case "refused":
		if _, isNumber := number(strings.TrimSuffix(after.text, "%")); !isNumber && (after.kind != sign || after.text == ",") && after.text != "?" {
			return p.refused(t)
		}
	case "passes", "trial":
		return passes{t}
	case "retry":
		p.want("after")
		t.text = "retry after"
		return retryAfter{p.condition(t, durations)}
	case "window":
		return window{p.pairs(t, countKeys)}
	case "event":
		return p.event(t)
	case "explain":
		if after = p.next(); after.kind != quoted {
			p.fault(after, "here must be a text in quotes", `write it like explain "9 of 10"`)
		}
		return explain{after}
	case "got":
		return got{p.is(t, aResult, results), ""}
	}
	if slices.Contains(stateWords(), t.text) {
		return state{cond{token: t, op: "=", want: value{token: t}}, false}
	}
	if _, isCounter := counters[t.text]; isCounter {
		return counter{p.condition(t, numbers), t.text}
	}
	if slices.Contains(p.names, t.text) && p.take("got") {
		about := t
		about.text += " got"
		return got{p.is(about, aResult, results), t.text}
	}
	if t.text == "not" {
		p.fault(t, "there is no negation", "expect what must be instead, such as closed or trips 0")
	}
	p.unknown(t, "something that can be expected", slices.Values(slices.Concat(taken(), p.names)))
	return nil
}

// What words are, for messages.
const (
	aState  = "a state"
	aResult = "what a caller can get"
)

// taken are the words of expectations, which are no names.
func taken() []string {
	return slices.Concat(others, stateWords(), slices.Collect(maps.Keys(counters)))
}

// counted reads a counter after its number.
func (p *parser) counted(n token) item {
	p.tokens = append([]token{n}, p.tokens...)
	v := p.value(numbers)
	t := p.next()
	if _, ok := counters[t.text+"s"]; ok {
		t.text += "s" // 1 event
	}
	if _, ok := counters[t.text]; !ok {
		p.unknown(t, "something that is counted", maps.Keys(counters))
	}
	return counter{cond{token: t, op: "=", want: v}, t.text}
}

func stateWords() (all []string) {
	for _, s := range recloser.States() {
		all = append(all, s.String())
	}
	return all
}

// hyphened writes a reason as one word.
func hyphened(r recloser.Reason) string { return strings.ReplaceAll(string(r), " ", "-") }

func (p *parser) refused(t token) item {
	var known []string
	for _, r := range recloser.RefusalReasons() {
		known = append(known, hyphened(r))
	}
	if k := p.peek(); k.kind == eol || k.text == "," {
		return refused{cond{token: t, op: "=", want: value{token: t}}}
	}
	return refused{p.is(t, "a reason to refuse", known)}
}

// keyed is a condition on one of several keys.
type keyed struct {
	key string
	cond
}

// countKeys are the numbers that a verdict rests on.
var countKeys = map[string]unit{"good": numbers, "failed": numbers, "slow": numbers, "run": numbers, "judged": numbers, "bad": ratios}

// eventKeys are the parts of an event.
var eventKeys = map[string]unit{
	"good": numbers, "failed": numbers, "slow": numbers, "run": numbers, "judged": numbers, "bad": ratios,
	"reason": words, "from": words, "automatic": words, "step": numbers, "number": numbers, "open_for": durations,
	"suspects": numbers, "lifted": durations,
}

// pairs reads KEY OP VALUE as often as it comes.
func (p *parser) pairs(t token, known map[string]unit) (all []keyed) {
	for p.peek().kind == word && p.peek().text != "at" {
		key := p.next()
		u, ok := known[key.text]
		if !ok {
			p.unknown(key, "a part of "+t.text, slices.Values(slices.Sorted(maps.Keys(known))))
		}
		if p.peek().kind != sign {
			p.want("=")
		}
		var c cond
		if u == words {
			what, known := wordsOf(key.text)
			c = p.is(key, what, known)
		} else {
			c = p.condition(key, u)
		}
		all = append(all, keyed{key.text, c})
	}
	if len(all) == 0 && t.text == "window" {
		p.unknown(p.peek(), "a part of "+t.text, slices.Values(slices.Sorted(maps.Keys(known))))
	}
	return all
}

// wordsOf returns what can follow a key of words.
func wordsOf(key string) (what string, known []string) {
	if key != "reason" {
		return aState, stateWords()
	}
	for _, k := range recloser.TransitionKeys() {
		if r := hyphened(k.Reason); !slices.Contains(known, r) {
			known = append(known, r)
		}
	}
	return "a reason", known
}

// event reads what the latest event to a state says.
func (p *parser) event(t token) item {
	e := event{about: t, to: p.oneOf("the state that it was to", stateWords()...), pairs: p.pairs(t, eventKeys)}
	if at := p.peek(); p.take("at") {
		c := p.condition(at, durations)
		e.at = &c
	}
	return e
}
