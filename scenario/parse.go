package scenario

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recloser-go/recloser/internal/defaults"
	"github.com/recloser-go/recloser/internal/suggest"
)

// Scenario is a file that was read.
type Scenario struct {
	File  string
	lines []string
	settings
	steps []step
	most  int // things that may happen in a run
}

// step is what one line has happen, or expects.
type step struct {
	line    int // from 1
	at      time.Duration
	act     act // nil: expects
	expects []item
}

// What a file may be: whatever is longer was not written by hand.
const (
	maxSize  = 1 << 20
	maxLines = 10_000
	maxNest  = 3 // of every and times
)

// Parse reads the content of a file; name is for messages. What is wrong with it
// is returned as Faults, all of it at once.
func Parse(name string, content []byte) (*Scenario, error) {
	lines := strings.Split(strings.TrimPrefix(string(content), "\ufeff"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	if len(content) > maxSize || len(lines) > maxLines {
		what := fmt.Sprintf("the file is longer than %d lines or 1 MiB", maxLines)
		return nil, Faults{{File: name, Line: 1, Column: 1, What: what, Do: "write what repeats with every or times"}}
	}
	f := &file{Scenario: Scenario{File: name, lines: lines, settings: settings{seed: 1}, most: maxSpent}, written: map[string]place{}}
	f.guard.Breaker.Name = "dependency"
	for n := range lines {
		f.readLine(n + 1)
	}
	if len(f.steps) == 0 && len(f.faults) == 0 {
		f.note(1, token{}, "nothing happens in this file", `write lines such as "0ms call -> fail" and "0ms expect closed"`)
	}
	f.validate()
	if len(f.faults) == 0 && !slices.ContainsFunc(f.steps, func(s step) bool { return len(s.expects) > 0 }) {
		f.note(f.steps[len(f.steps)-1].line, token{}, "nothing is expected in this file, so it tests nothing", "write a line such as expect closed")
	}
	if len(f.faults) > 0 {
		f.faults.sort()
		return nil, f.faults
	}
	return &f.Scenario, nil
}

// file is a file that is being read.
type file struct {
	Scenario
	faults     Faults
	now        time.Duration // of the line
	stalled    time.Duration // nothing can happen before
	written    map[string]place
	names      []string // of calls
	begun      bool     // a line with a time was there
	settingsOn bool     // the line before was of settings
}

type place struct {
	line int
	token
}

func (f *file) note(line int, t token, what, do string) {
	source := f.lines[line-1]
	f.faults = append(f.faults, Fault{File: f.File, Line: line, Column: column(source, t), What: what, Do: do, Source: source})
}

// parser reads one line. After the first fault it reads nothing but the end.
type parser struct {
	*file
	line   int
	tokens []token
	failed bool
}

func (f *file) readLine(n int) {
	source := f.lines[n-1]
	if !utf8.ValidString(source) {
		f.note(n, token{}, "the line is not UTF-8 text", "save the file as UTF-8")
		return
	}
	tokens, ok := lex(source)
	p := &parser{file: f, line: n, tokens: tokens}
	if !ok {
		f.note(n, tokens[len(tokens)-1], "the text has no end", `close it with "`)
		return
	}
	first := p.peek()
	indented := first.start > 0
	if first.kind == eol {
		return
	}
	switch isTime := first.kind == word && (first.text[0] >= '0' && first.text[0] <= '9' || first.text[0] == '+'); {
	case first.text == "settings" && !indented:
		p.next()
		p.settingsLine()
		return
	case indented && f.settingsOn:
		p.settingsLine()
		return
	case indented && !f.begun:
		p.fault(first, "there is no line with a time before this one", "begin at the margin, with a time such as 100ms")
	case indented:
	case isTime:
		f.begun = true
		p.time(p.next())
	default:
		p.fault(first, fmt.Sprintf("a line begins with a time, not with %q", first.text),
			"write it like 100ms call -> ok, or begin with settings")
	}
	f.settingsOn = false
	p.statement()
}

// time reads when a line is.
func (p *parser) time(t token) {
	digits, later := strings.CutPrefix(t.text, "+")
	d, ok := duration(digits)
	if later {
		d += p.now
	}
	switch {
	case !ok || d > maxTime:
		p.fault(t, fmt.Sprintf("%q is not a time", t.text), "write the time since the start like 100ms or 1h30m, at most "+defaults.Short(maxTime)+"; +5s is after the line before")
	case d < p.now:
		p.fault(t, fmt.Sprintf("the line before is later, at %s", defaults.Short(p.now)), "put the lines in order")
	case d < p.stalled:
		p.fault(t, fmt.Sprintf("the process stands still until %s", defaults.Short(p.stalled)), "")
	default:
		p.now = d
	}
}

func (p *parser) statement() {
	s := step{line: p.line, at: p.now}
	if p.peek().text == "expect" && p.peek().kind == word {
		p.next()
		for ok := true; ok; ok = p.take(",") {
			s.expects = append(s.expects, p.item())
		}
	} else {
		s.act = p.act(0)
	}
	p.rest()
	if !p.failed {
		p.steps = append(p.steps, s)
	}
}

// rest wants the line to end.
func (p *parser) rest() {
	if t := p.peek(); t.kind != eol {
		p.fault(t, fmt.Sprintf("%q is too much here", t.text), "")
	}
}

func (p *parser) fault(t token, what, do string) {
	if !p.failed {
		p.failed = true
		p.note(p.line, t, what, do)
	}
}

// isNot notes what is something else than what must be there.
func (p *parser) isNot(t token, what, do string) {
	switch other := meant[t.text]; {
	case t.kind == eol:
		p.fault(t, "here the line lacks "+what, do)
	case t.kind == sign && other != "":
		p.fault(t, fmt.Sprintf("%q compares nothing", t.text), fmt.Sprintf("did you mean %q?", other))
	default:
		p.fault(t, fmt.Sprintf("%q is not %s", t.text, what), do)
	}
}

// unknown notes a word that is none of those known.
func (p *parser) unknown(t token, what string, known iter.Seq[string]) {
	p.isNot(t, what, suggest.DidYouMean(t.text, known))
}

func (p *parser) peek() token {
	if p.failed {
		return p.tokens[len(p.tokens)-1]
	}
	return p.tokens[0]
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 1 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// take takes the next token if it is this one.
func (p *parser) take(s string) bool {
	t := p.peek()
	if t.kind == eol || t.kind == quoted || t.text != s {
		return false
	}
	p.next()
	return true
}

// takeAll takes these words if they come next.
func (p *parser) takeAll(words ...string) bool {
	for i, w := range words {
		if p.failed || i >= len(p.tokens) || p.tokens[i].kind != word || p.tokens[i].text != w {
			return false
		}
	}
	p.tokens = p.tokens[len(words):]
	return true
}

// want takes the next token, which must be this one.
func (p *parser) want(s string) {
	if t := p.peek(); !p.take(s) {
		p.fault(t, fmt.Sprintf("here must be %q", s), "")
	}
}

// oneOf reads one of these words.
func (p *parser) oneOf(what string, known ...string) string {
	t := p.next()
	if t.kind != word || !slices.Contains(known, t.text) {
		p.unknown(t, what, slices.Values(known))
		return ""
	}
	return t.text
}

// duration reads a duration above zero.
func (p *parser) duration() time.Duration {
	t := p.next()
	d, ok := duration(t.text)
	if !ok || d == 0 || t.kind != word {
		p.isNot(t, "a duration", "write one like 300ms, 5s or 1h30m, at most "+defaults.Short(maxTime))
	}
	return d
}

// count reads how often something happens.
func (p *parser) count(most int) int {
	t := p.next()
	n, err := strconv.Atoi(t.text)
	if err != nil || n < 1 || n > most {
		p.fault(t, fmt.Sprintf("%q is not a number from 1 to %d", t.text, most), "")
	}
	return n
}

// settingsLine reads what follows settings.
func (p *parser) settingsLine() {
	p.settingsOn = true
	if p.begun {
		p.fault(p.peek(), "settings are for the whole scenario, and stand before its first line with a time", "change them later with update")
		return
	}
	for p.peek().kind != eol {
		_, key, value := p.setting(settingsOf(&p.settings))
		if before, ok := p.written[key.text]; ok && !p.failed {
			p.fault(key, fmt.Sprintf("%s was set in line %d", key.text, before.line), "")
		}
		if !p.failed {
			p.written[key.text] = place{p.line, value}
			continue
		}
		p.failed = false // what is wrong with one says nothing of the next
		for p.peek().kind != eol && (p.peek().kind != word || p.tokens[1].text != "=") {
			p.next()
		}
	}
}

// setting reads key=value, sets it and returns which of the settings it is.
func (p *parser) setting(all []setting) (i int, key, value token) {
	key = p.next()
	i = slices.IndexFunc(all, func(s setting) bool { return s.key == key.text })
	if i < 0 || key.kind != word {
		p.unknown(key, "a setting", keys(all))
		return 0, key, value
	}
	p.want("=")
	value = p.next()
	if fault := all[i].set(value.text); value.kind != word || fault != "" {
		p.fault(value, fmt.Sprintf("%s %s, not %q", key.text, fault, value.text), "")
	}
	return i, key, value
}

// validate notes what the engine does not accept, at the value it is about.
func (f *file) validate() {
	all := settingsOf(&f.settings)
	for _, fault := range fieldErrors(f.guard.Validate()) {
		key := fault.Field
		for _, s := range all {
			if s.field == fault.Field {
				key = s.key
			}
		}
		at, ok := f.written[key]
		if !ok { // two values do not fit, and one of them is a default
			for _, p := range f.written {
				if at.line == 0 || p.line < at.line || p.line == at.line && p.start < at.start {
					at = p
				}
			}
		}
		if at.line > 0 {
			f.note(at.line, at.token, fmt.Sprintf("%s %v %s", key, fault.Value, inKeys(all, fault.Rule)), "")
		}
	}
}
