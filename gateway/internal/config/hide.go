package config

import (
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// No message may show a secret, whatever is wrong with how it is written. So
// what to hide is decided by lines, before anything in them is judged: faultAt
// then keeps back what was written there, and Parse the line itself.

// hideUnread hides what may be a secret in a file whose structure is not known.
func (r *reader) hideUnread() {
	within := false
	for i, line := range r.lines {
		within = within || holdsSecrets(line)
		if within || strings.Contains(line, "://") {
			r.secret[i+1] = true
		}
	}
}

// holdsSecrets reports whether a key is one of those below which secrets stand.
func holdsSecrets(key string) bool {
	return strings.Contains(key, "alerts") || strings.Contains(key, "traces")
}

// hideSecrets hides the sections with the urls of webhooks and the headers for traces.
func (r *reader) hideSecrets(body ast.Node) {
	root, ok := body.(ast.MapNode)
	if !ok {
		r.hideUnread()
		return
	}
	for pairs := root.MapRange(); pairs.Next(); {
		key := pairs.Key()
		name := key.GetToken().Value + key.String()
		section, ok := pairs.Value().(ast.MapNode)
		switch {
		case !holdsSecrets(name):
		case ok && strings.Contains(name, "traces"):
			r.hideHeaders(section)
		default:
			r.hide(at(key).line, pairs.Value())
		}
	}
}

// hideHeaders hides what is in the section traces, but for what is surely no header.
func (r *reader) hideHeaders(section ast.MapNode) {
	for pairs := section.MapRange(); pairs.Next(); {
		if name := pairs.Key().GetToken().Value; name != "endpoint" && name != "sample" {
			r.hide(at(pairs.Key()).line, pairs.Value())
		}
	}
}

// hideURLs hides what is below a key that is not known, if it has a url: that
// may be of a webhook.
func (r *reader) hideURLs(e entry) {
	for _, n := range []ast.Node{e.key, e.value} {
		ast.Walk(visit(func(part ast.Node) {
			if strings.Contains(part.GetToken().Value, "://") {
				r.hide(at(e.key).line, e.value)
			}
		}), n)
	}
}

// hideCredentials hides what has an @: a user and a password may stand before it.
func (r *reader) hideCredentials(tokens token.Tokens) {
	for i, line := range r.lines {
		if strings.Contains(line, "@") { // whatever is a token of it
			r.secret[i+1] = true
		}
	}
	for _, t := range tokens {
		if strings.Contains(t.Value, "@") {
			for line := t.Position.Line; line <= lastLine(t); line++ {
				r.secret[line] = true
			}
		}
	}
}

// hide hides the lines from first to the end of a node.
func (r *reader) hide(first int, n ast.Node) {
	last := first
	ast.Walk(visit(func(part ast.Node) { last = max(last, lastLine(part.GetToken())) }), n)
	for line := first; line <= last; line++ {
		r.secret[line] = true
	}
}

// lastLine returns where a token ends.
func lastLine(t *token.Token) int {
	return t.Position.Line + strings.Count(strings.TrimSpace(t.Origin), "\n")
}

type visit func(ast.Node)

// Visit is for ast.Walk.
func (v visit) Visit(n ast.Node) ast.Visitor {
	v(n)
	return v
}

// harmless is text of this package, not of the file. A secret has digits, signs
// or capitals.
var harmless = regexp.MustCompile(`^[a-z_, -]{1,200}$`)

// shown returns what a message about a line may say of what is written there.
func (r *reader) shown(line int, args []any) []any {
	hidden := r.secret[line]
	for _, a := range args {
		text, ok := a.(string)
		hidden = hidden || ok && strings.Contains(text, "@")
	}
	if !hidden {
		return args
	}
	all := make([]any, len(args))
	for i, a := range args {
		all[i] = a
		switch v := a.(type) {
		case string:
			if !harmless.MatchString(v) {
				all[i] = masked
			}
		case error:
			if !harmless.MatchString(v.Error()) {
				all[i] = masked
			}
		}
	}
	return all
}
