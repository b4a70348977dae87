package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/internal/suggest"
)

func (c *Config) askSection(to **Ask) value {
	return optional[Ask]{
		to: to, fresh: Ask{Group: Everyone, Decide: FirstYes, Timeout: c.defaults.Timeout},
		keys: c.askKeys, check: c.checkAsk,
	}.value()
}

func (c *Config) askKeys(a *Ask) []key {
	return []key{
		{
			name: "accept", value: condition(a), needed: true, span: "true or false",
			means: "which response is a yes. It knows `status` (number), `body` (the decoded JSON, else `nil`), `header` (the first value of each, such as `header[\"Content-Type\"]`) and `dependency` (the id), in the language [expr](https://expr-lang.org/docs/language-definition)",
		},
		{name: "group", value: c.group(&a.Group), normal: "`\"*\"`: all dependencies", span: "a group that some dependency has", means: "who is asked"},
		{name: "decide", value: decide(a), span: "`first-yes`, `all`, `{ quorum: 1 }`", means: "how many must say yes: one, all, or so many"},
		{
			name: "timeout", value: duration(&a.Timeout, 0, 0), normal: "`timeout` of `defaults`", span: "above 0",
			means: "how long the ask waits. Longer than `slow_call` of members with `suspect: off`, else a hang shows only afterwards; `check` warns of it",
		},
	}
}

func (c *Config) checkAsk(r *reader, n ast.Node, a *Ask) {
	members := c.members(a.Group)
	r.need(n, "accept", "add accept:, such as status == 200 && body.allowed == true", "nothing says which answer is a yes")
	if decide, ok := r.written("decide"); ok && a.Decide == Quorum && a.Quorum > len(members) && len(members) > 0 {
		r.fault(decide, fmt.Sprintf("write at most %d", len(members)), "%d must say yes, and the group %q has only %d", a.Quorum, a.Group, len(members))
	}
	if timeout, ok := r.written("timeout"); ok {
		n = timeout
	}
	r.warnTimeout(n, a, members)
}

// warnTimeout notes an ask that ends before a member that hangs stands out: it
// is then noticed only by calls that run on unseen.
func (r *reader) warnTimeout(n ast.Node, a *Ask, members []Dependency) {
	var slow []Dependency
	for _, d := range members {
		if d.Suspect == recloser.Off && a.Timeout <= d.Settings.SlowCall {
			slow = append(slow, d)
		}
	}
	if len(slow) == 0 {
		return
	}
	first, origin := slow[0], ""
	if first.Settings.SlowCall == defaultSlowCall {
		origin = ", the default"
	}
	most := slices.MaxFunc(slow, func(a, b Dependency) int { return cmp.Compare(a.Settings.SlowCall, b.Settings.SlowCall) })
	r.warn(n, "the ask's timeout %s is not above the slow_call of %s, and suspect is off, so a hang shows only after the answer went out; "+
		"write suspect: auto, a timeout above %s, or a slow_call below %s under breaker: of defaults or of each",
		a.Timeout, andMore(fmt.Sprintf("%s (%s%s)", first.ID, first.Settings.SlowCall, origin), len(slow)-1), most.Settings.SlowCall, a.Timeout)
}

// decide reads "first-yes", "all" and "{quorum: 2}".
func decide(a *Ask) value {
	quorum := func() []key {
		return []key{{name: "quorum", value: whole(&a.Quorum, 1, 1e6), needed: true, means: "how many must say yes"}}
	}
	words := []Decide{FirstYes, All}
	return value{
		kind:   "word",
		schema: func() object { return object{"anyOf": []any{object{"enum": words}, objectOf(quorum())}} },
		read: func(r *reader, n ast.Node) {
			if _, ok := n.(ast.MapNode); ok {
				before := len(r.faults)
				r.mapping(n, quorum())
				if a.Quorum == 0 && len(r.faults) == before {
					r.fault(n, "write {quorum: 2}", "nothing says how many must say yes")
				}
				a.Decide = Quorum
				return
			}
			s, ok := r.text(n)
			switch {
			case !ok:
			case slices.Contains(words, Decide(s)):
				a.Decide = Decide(s)
			case strings.HasPrefix(s, string(Quorum)):
				r.fault(n, "write {quorum: 2}", "%q does not say how many must say yes", s)
			default:
				r.fault(n, suggest.DidYouMean(s, slices.Values([]string{string(FirstYes), string(All), "{quorum: 2}"})), "%q is not a way to decide", s)
			}
		},
		show: func(path string, put put) {
			text := string(a.Decide)
			if a.Decide == Quorum {
				text = fmt.Sprintf("{quorum: %d}", a.Quorum)
			}
			put(leaf{path: path, text: text})
		},
	}
}

// Compile makes the condition of an ask from its expression. It is to be run
// with a map[string]any that holds status (int), body (any: the decoded JSON, or
// nil), header (map[string]string) and dependency (string: the ID).
func Compile(accept string) (*vm.Program, error) {
	return expr.Compile(accept, expr.AsBool(), expr.Env(types.Map{
		"status":     types.Int,
		"body":       types.Any,
		"header":     types.Map{types.Extra: types.String},
		"dependency": types.String,
	}))
}

func condition(a *Ask) value {
	return scalar("expression", object{"type": "string"}, func(r *reader, n ast.Node, s string) {
		a.Accept = s
		a.Condition = r.condition(n, s)
	}, func() string { return a.Accept })
}

func (r *reader) condition(n ast.Node, s string) *vm.Program {
	program, err := Compile(s)
	if err == nil {
		return program
	}
	e, ok := errors.AsType[*file.Error](err)
	if !ok { // it compiles, and is not a condition
		r.fault(n, "compare it, such as status == 200", "the expression must be true or false: %v", err)
		return nil
	}
	what, do := e.Message, ""
	if name, ok := strings.CutPrefix(what, "unknown name "); ok {
		do = suggest.DidYouMean(name, slices.Values([]string{"status", "body", "header", "dependency"}))
	}
	switch {
	case what == `unexpected token Operator("=")`:
		do = "write == to compare"
	case strings.Contains(what, "EOF"):
		what, do = "it ends too early", "write it like status == 200 && body.allowed == true"
	}
	r.faultAt(r.inside(n, e.Line, e.Column), do, "the expression cannot be read: %s", what)
	return nil
}

// inside returns where a character of a scalar stands in the file; line counts
// from 1 and column from 0. Where the text was folded or escaped, it is where the
// scalar begins.
func (r *reader) inside(n ast.Node, line, column int) position {
	p := at(n)
	start := p
	switch n.GetToken().Type.String() {
	case "SingleQuote", "DoubleQuote":
		p.column++
	case "Literal": // the text is in the lines below, all with the same indent
		p.line += line
		if p.line > len(r.lines) {
			return start
		}
		source := r.lines[p.line-1]
		p.column = len(source) - len(strings.TrimLeft(source, " ")) + 1
	case "Folded":
		return start
	}
	text, _ := r.secretText(n)
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) || p.line > len(r.lines) {
		return start
	}
	// The line of the file must hold the text as it is, else a part was escaped.
	source := []rune(r.lines[p.line-1])
	if p.column-1 > len(source) || !strings.HasPrefix(string(source[p.column-1:]), strings.TrimLeft(lines[line-1], " ")) {
		return start
	}
	p.column += column
	return p
}
