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

	"github.com/recloser-go/recloser/internal/suggest"
)

func (r *routeReader) ask(n ast.Node) *Ask {
	a := &Ask{Group: Everyone, Decide: FirstYes, Timeout: r.defaults.timeout}
	before := len(r.faults)
	var accept, decide, timeout ast.Node
	r.mapping(n, fields{
		"group": func(n ast.Node) { a.Group = r.group(n) },
		"accept": func(n ast.Node) {
			accept = n
			a.Accept, a.Condition = r.condition(n)
		},
		"decide": func(n ast.Node) {
			decide = n
			r.decide(n, a)
		},
		"timeout": func(n ast.Node) {
			timeout = n
			r.setDuration(&a.Timeout)(n)
		},
	})
	if len(r.faults) > before {
		return a
	}
	members := r.members(a.Group)
	if accept == nil {
		r.fault(n, "add accept:, such as status == 200 && body.allowed == true", "nothing says which answer is a yes")
	}
	if a.Decide == Quorum && a.Quorum > len(members) && len(members) > 0 {
		r.fault(decide, fmt.Sprintf("write at most %d", len(members)), "%d must say yes, and the group %q has only %d", a.Quorum, a.Group, len(members))
	}
	if timeout == nil {
		timeout = n
	}
	r.warnTimeout(timeout, a, members)
	return a
}

// warnTimeout notes an ask that ends before a member can be called slow: a
// member that hangs is then noticed only by calls that run on unseen.
func (r *routeReader) warnTimeout(n ast.Node, a *Ask, members []Dependency) {
	var slow []Dependency
	for _, d := range members {
		if a.Timeout <= d.Settings.SlowCall {
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
	r.warn(n, "the ask's timeout %s is not above the slow_call of %s, so a hang shows only after the answer went out; "+
		"write a timeout above %s, or a slow_call below %s under breaker: of defaults or of each",
		a.Timeout, andMore(fmt.Sprintf("%s (%s%s)", first.ID, first.Settings.SlowCall, origin), len(slow)-1), most.Settings.SlowCall, a.Timeout)
}

func (r *routeReader) decide(n ast.Node, a *Ask) {
	if _, ok := n.(ast.MapNode); ok {
		before := len(r.faults)
		r.mapping(n, fields{"quorum": r.setInt(&a.Quorum)})
		if a.Quorum == 0 && len(r.faults) == before {
			r.fault(n, "write {quorum: 2}", "nothing says how many must say yes")
		}
		a.Decide = Quorum
		return
	}
	s, ok := r.text(n)
	switch {
	case !ok:
	case s == string(FirstYes) || s == string(All):
		a.Decide = Decide(s)
	case strings.HasPrefix(s, string(Quorum)):
		r.fault(n, "write {quorum: 2}", "%q does not say how many must say yes", s)
	default:
		r.fault(n, suggest.DidYouMean(s, func(yield func(string) bool) {
			_ = yield(string(FirstYes)) && yield(string(All)) && yield("{quorum: 2}")
		}), "%q is not a way to decide", s)
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

func (r *routeReader) condition(n ast.Node) (string, *vm.Program) {
	s, ok := r.text(n)
	if !ok {
		return "", nil
	}
	program, err := Compile(s)
	if err == nil {
		return s, program
	}
	e, ok := errors.AsType[*file.Error](err)
	if !ok { // it compiles, and is not a condition
		r.fault(n, "compare it, such as status == 200", "the expression must be true or false: %v", err)
		return s, nil
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
	return s, nil
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
