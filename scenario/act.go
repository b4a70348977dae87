package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/recloser-go/recloser"
)

// act is something that happens. done, if it is not nil, is called when it is
// over.
type act interface{ do(r *run, done func()) }

// instant is an act that is over at once.
type instant func(r *run)

func (i instant) do(r *run, done func()) {
	i(r)
	if done != nil {
		done()
	}
}

// every repeats an act.
type every struct {
	interval, length time.Duration // length 0: up to the end of the scenario
	act              act
}

// times has an act happen several times: one after the other, or all at once.
type times struct {
	n      int
	atOnce bool
	act    act
}

// call is a call to the dependency.
type call struct {
	name             string
	deadline, giveUp time.Duration // 0: none
	deaf             bool          // it does not heed its context
	once             bool          // it is not to be tried again
	attempts         []mix         // what the dependency does with each; the last for all further ones
}

// mix is one of several outcomes, by chance.
type mix []part

type part struct {
	percent float64
	outcome
}

// outcome is how a call ends, and when.
type outcome struct {
	verdict
	wait               time.Duration // told to
	upload, took, body time.Duration
	answered           bool // there is a body
}

type verdict string

const (
	succeeds  verdict = "ok"
	fails     verdict = "fail"
	ignored   verdict = "ignore"
	panics    verdict = "panic"
	exits     verdict = "goexit"
	cancels   verdict = "cancel"
	hangs     verdict = "hang"
	waits     verdict = "wait"      // told to wait, as by 503
	throttled verdict = "throttled" // the same, as by 429
)

var verdicts = []string{"ok", "fail", "ignore", "panic", "goexit", "cancel", "hang", "wait", "throttled"}

// acts are the words that a line can begin with, after its time.
var acts = []string{
	"call", "end", "answer", "cancel", "withdraw", "check", "isolate", "hold", "release", "reset", "trip", "try", "update", "wall", "stall", "mark",
	"suspect", "suspicion", "every", "expect",
}

// act reads what happens.
func (p *parser) act(depth int) act {
	t := p.next()
	if digit := t.kind == word && t.text[0] >= '0' && t.text[0] <= '9'; digit || t.text == "every" {
		return p.repeated(t, depth)
	}
	switch t.text {
	case "call":
		return p.call(depth)
	case "end":
		name := p.name()
		p.want("->")
		o := p.outcome()
		if o.took > 0 || o.answered || o.verdict == hangs || o.verdict == panics || o.verdict == exits {
			p.fault(t, "a call that is ended ends now, with ok, fail, ignore, cancel, wait or throttled", "")
		}
		return instant(func(r *run) { r.endNamed(name, o) })
	case "answer", "cancel", "withdraw":
		name := p.name()
		return instant(func(r *run) { r.tell(name, t.text) })
	case "check":
		return instant(func(r *run) { r.breaker.Check() })
	case "hold":
		if p.take("trials") {
			p.want("for")
			d := p.duration()
			return instant(func(r *run) { r.breaker.HoldTrials(d) })
		}
		return p.override(t.text)
	case "isolate":
		return p.override(t.text)
	case "release":
		return instant(func(r *run) { r.breaker.Release(operator, reason) })
	case "reset":
		return instant(func(r *run) { r.breaker.Reset(operator, reason) })
	case "try":
		return instant(func(r *run) { r.breaker.TryNow(operator, reason) })
	case "trip":
		if !p.take("for") {
			return instant(func(r *run) { r.breaker.TripNow(operator, reason) })
		}
		d := p.duration()
		return instant(func(r *run) { r.must(r.breaker.TripFor(d, operator, reason)) })
	case "update":
		return p.update()
	case "wall":
		return p.wall()
	case "stall":
		d := p.duration()
		p.stalled = p.now + d
		if depth > 0 {
			p.fault(t, "a stall cannot be repeated", "write a line for each")
		}
		return instant(func(r *run) { r.stall(d) })
	case "suspect":
		d := time.Duration(recloser.Off)
		if !p.take("off") {
			d = p.duration()
		}
		return instant(func(r *run) { r.breaker.SetSuspect(d) })
	case "suspicion":
		held := p.oneOf("what becomes of it", "held", "free") == "held"
		return instant(func(r *run) { r.held = held })
	case "mark":
		return instant(func(r *run) { r.mark() })
	}
	p.unknown(t, "something that can happen", slices.Values(acts))
	return nil
}

// Who operates, as far as the breaker is told.
const (
	operator = "operator"
	reason   = "scenario"
)

func (p *parser) repeated(t token, depth int) act {
	if depth == maxNest {
		p.fault(t, "too many repetitions in each other", "")
		return nil
	}
	var e every
	var n times
	if t.text == "every" {
		e.interval = p.duration()
		if p.take("for") {
			e.length = p.duration()
		}
		if e.interval < time.Microsecond {
			p.fault(t, "that is more than a million times a second", "")
		}
	} else {
		p.tokens = append([]token{t}, p.tokens...)
		n.n = p.count(maxTimes)
		if n.atOnce = p.takeAll("at", "once"); !n.atOnce && !p.take("times") {
			p.unknown(p.peek(), "how often it happens", slices.Values([]string{"times", "at once"}))
		}
	}
	p.want(":")
	inner := p.act(depth + 1)
	if n.n > 0 {
		n.act = inner
		return n
	}
	e.act = inner
	return e
}

// name reads the name of a call that was made.
func (p *parser) name() string {
	t := p.next()
	if t.kind != word || !slices.Contains(p.names, t.text) {
		p.unknown(t, "the name of a call made before", slices.Values(p.names))
	}
	return t.text
}

func (p *parser) call(depth int) act {
	c := &call{}
	if t := p.peek(); t.kind == word && !slices.Contains(callWords, t.text) {
		c.name = p.next().text
		if !callName.MatchString(c.name) || slices.Contains(taken(), c.name) {
			p.fault(t, fmt.Sprintf("%q cannot be the name of a call", t.text), "use letters and digits that are no word of expectations, such as t1")
		} else {
			p.names = append(p.names, c.name)
		}
		if depth > 0 {
			p.fault(t, "a call that is repeated cannot have a name", "")
		}
	}
	for p.peek().kind == word {
		switch t := p.next(); t.text {
		case "with":
			p.want("deadline")
			c.deadline = p.duration()
		case "giving":
			p.want("up")
			p.want("after")
			c.giveUp = p.duration()
		case "deaf":
			c.deaf = true
		case "once":
			c.once = true
		default:
			p.unknown(t, "something said of a call", slices.Values(callWords))
		}
	}
	p.want("->")
	for ok := true; ok; ok = p.take(";") {
		c.attempts = append(c.attempts, p.mix())
	}
	return c
}

var callName = regexp.MustCompile(`^\pL[\pL\d_-]*$`)

var callWords = []string{"with", "giving", "deaf", "once"}

// mix reads an outcome, or several with their shares.
func (p *parser) mix() mix {
	var m mix
	sum := 0.0
	first := p.peek()
	for ok := true; ok; ok = p.take(",") {
		percent := 100.0
		if t := p.peek(); len(m) > 0 || t.kind == word && t.text[len(t.text)-1] == '%' {
			share, ok := share(p.next().text)
			if percent = 100 * share; !ok || percent > 100 {
				p.fault(t, fmt.Sprintf("%q is not a share", t.text), "write it like 90%")
			}
		}
		sum += percent
		m = append(m, part{percent, p.outcome()})
	}
	if sum < 100-1e-6 || sum > 100+1e-6 {
		p.fault(first, fmt.Sprintf("the shares add up to %.4g%%", sum), "they must add up to 100%")
	}
	return m
}

func (p *parser) outcome() outcome {
	var o outcome
	if p.take("upload") {
		o.upload = p.duration()
		p.want("then")
	}
	t := p.peek()
	o.verdict = verdict(p.oneOf("an outcome", verdicts...))
	if o.verdict == waits || o.verdict == throttled {
		if _, ok := duration(p.peek().text); !ok {
			p.fault(p.peek(), fmt.Sprintf("%s needs a time", o.verdict), fmt.Sprintf("write it like %s 30s", o.verdict))
		}
		o.wait = p.duration()
	}
	if p.take("in") {
		o.took = p.duration()
	}
	if p.take("then") {
		o.body, o.answered = p.duration(), true
	}
	if o.verdict == hangs && (o.took > 0 || o.answered) {
		p.fault(t, "a call that hangs has no end", "write the outcome that it has, such as fail in 30s")
	}
	return o
}

func (p *parser) override(what string) act {
	var d time.Duration
	if t := p.peek(); p.take("for") {
		d = p.duration()
	} else if t.kind != eol {
		p.fault(t, fmt.Sprintf("%q is too much here", t.text), fmt.Sprintf("for how long is written like %s for 10s", what))
	}
	set := (*recloser.Breaker).Isolate
	if what == "hold" {
		set = (*recloser.Breaker).HoldClosed
	}
	return instant(func(r *run) {
		var until time.Time
		if d > 0 {
			until = r.clock.Now().Add(d)
		}
		r.must(set(r.breaker, operator, reason, until))
	})
}

func (p *parser) update() act {
	type change struct {
		setting int
		value   string
	}
	var changes []change
	for ok := true; ok; ok = p.peek().kind != eol {
		i, _, value := p.setting(breakerSettings(&recloser.Config{}))
		changes = append(changes, change{i, value.text})
	}
	return instant(func(r *run) {
		cfg := r.guardConfig.Breaker
		all := breakerSettings(&cfg)
		for _, c := range changes {
			all[c.setting].set(c.value)
		}
		err := r.breaker.Update(cfg)
		if err == nil { // else the next update starts from what is in force
			r.guardConfig.Breaker = cfg
		}
		r.must(err)
	})
}

// wall reads how far the wall clock is set.
func (p *parser) wall() act {
	p.want("clock")
	t := p.next()
	d, err := time.ParseDuration(t.text)
	if err != nil || d == 0 || d.Abs() > maxTime {
		p.fault(t, fmt.Sprintf("%q is not how far the clock is set", t.text), "write it like +1h or -90s")
	}
	return instant(func(r *run) { r.setWall(d) })
}
