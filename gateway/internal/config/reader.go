package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"github.com/recloser-go/recloser/internal/suggest"
)

// reader walks the syntax tree of one file and collects every fault, where a
// decoder into structs would stop at the first and lose the positions.
type reader struct {
	*reading
	file     string
	lines    []string
	faults   Errors
	secret   map[int]bool // lines that must not be shown
	widths   map[int]int  // characters of lines that were counted
	path     string       // of what is being read
	key      string       // its last part
	override bool         // file is no file, but says where a single value comes from
	by       *reader      // of the file that includes this one; nil: none does
}

// reading is what the files of one config have in common.
type reading struct {
	places   map[string]place // of every value that was read, by its path
	included []included
	paths    map[string]place // of routes, by their path
	warnings []string
	own      []ownAddress // of the gateway itself
	readers  []*reader    // in the order in which people should be told of their faults
	sources  []source     // all files, and the patterns by which some are included
}

type ownAddress struct{ setting, address string }

// position of a character, both from 1.
type position struct{ line, column int }

// at returns where the node begins.
func at(n ast.Node) position {
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return at(v.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return at(v.Key)
	}
	p := n.GetToken().Position
	return position{p.Line, p.Column}
}

func (r *reader) fault(n ast.Node, do, what string, args ...any) {
	r.faultAt(at(n), do, what, args...)
}

// faultAt is fault at a position. What was written there is not told if it may
// be a secret; see hide.go.
func (r *reader) faultAt(p position, do, what string, args ...any) {
	p = r.inFile(p)
	r.note(p, do, fmt.Sprintf(what, r.shown(p.line, args)...))
}

// note is faultAt for words that hold nothing of the file.
func (r *reader) note(p position, do, what string) {
	p = r.inFile(p)
	if strings.Contains(do, "@") { // it repeats what was written
		do = ""
	}
	r.faults = append(r.faults, Fault{File: r.file, Line: p.line, Column: p.column, What: what, Do: do, Source: r.lines[p.line-1]})
}

// inFile moves a position into the file: the parser puts some tokens behind the
// end of a line or of the file.
func (r *reader) inFile(p position) position {
	p.line = min(max(p.line, 1), len(r.lines))
	width, known := r.widths[p.line]
	if !known { // counted once: a long line may have a fault in every word
		width = utf8.RuneCountInString(r.lines[p.line-1])
		r.widths[p.line] = width
	}
	p.column = min(max(p.column, 1), width+1)
	return p
}

// twice notes that what stands at n was written before.
func (r *reader) twice(n ast.Node, first place, do, what string, args ...any) {
	where := fmt.Sprintf("in line %d", at(first.n).line)
	if first.r != r {
		where = "at " + first.origin()
	}
	r.fault(n, fmt.Sprintf("the first is %s; remove or %s one", where, do), what, args...)
}

// warn notes what is allowed and hardly meant.
func (r *reader) warn(n ast.Node, what string, args ...any) {
	p := at(n)
	r.warnings = append(r.warnings, fmt.Sprintf("%s:%d:%d: ", r.file, p.line, p.column)+fmt.Sprintf(what, r.shown(p.line, args)...))
}

// entry is a key of a mapping with its value.
type entry struct {
	key   ast.Node
	name  string
	value ast.Node
}

// entries returns the pairs of a mapping whose keys are different words. Each
// fault of the mapping itself is noted; kind names a key in messages, and keys
// are those there can be.
func (r *reader) entries(n ast.Node, kind string, keys []string) []entry {
	mapping, ok := n.(ast.MapNode)
	if !ok {
		if r.readable(n) {
			do := "write keys and values below each other, indented"
			if s, ok := n.(*ast.StringNode); ok {
				if key, _, colon := strings.Cut(s.Value, ":"); colon && slices.Contains(keys, key) {
					do = `write "key: value", with a space after the colon`
				}
			}
			r.fault(n, do, "here must be a mapping with %s, not %s", strings.Join(keys, ", "), shape(n))
		}
		return nil
	}
	first := make(map[string]ast.Node)
	var all []entry
	for pairs := mapping.MapRange(); pairs.Next(); {
		key, value := pairs.Key(), pairs.Value()
		name, ok := r.text(key)
		if !ok {
			continue
		}
		if n, twice := first[name]; twice {
			r.twice(key, place{r, n}, "rename", "%s %q is written twice", kind, name)
			continue
		}
		first[name] = key
		all = append(all, entry{key, name, value})
	}
	return all
}

// mapping reads a mapping whose keys must all be known.
func (r *reader) mapping(n ast.Node, known []key) { r.readKeys(r.known(n, known), known) }

// known returns what is written at each known key. Whatever else is written is a fault.
func (r *reader) known(n ast.Node, known []key) map[string]ast.Node {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	slices.Sort(names)
	written := make(map[string]ast.Node)
	for _, e := range r.entries(n, "key", names) {
		ok := slices.Contains(names, e.name)
		switch {
		case ok && isNull(e.value):
			r.fault(e.key, "write a value or remove the key", "%q has no value", e.name)
		case ok:
			written[e.name] = e.value
		case r.by != nil && r.path == "":
			r.hideURLs(e)
			r.fault(e.key, "write it in "+r.by.file, "an included file has only dependencies and routes, not %q", e.name)
		case comesLater(e.name):
			r.hideURLs(e)
			r.fault(e.key, "remove it", "this version does not have %q yet", e.name)
		case parentOf(known, e.name) != "":
			r.hideURLs(e)
			r.fault(e.key, fmt.Sprintf("write it under %s:", parentOf(known, e.name)), "%q is not a key here", e.name)
		default:
			r.hideURLs(e)
			r.fault(e.key, suggest.DidYouMean(e.name, slices.Values(names)), "unknown key %q", e.name)
		}
	}
	return written
}

// parentOf returns the key in whose mapping a key belongs; "" if in none.
func parentOf(keys []key, name string) string {
	for _, k := range keys {
		if k.value.keys != nil && slices.ContainsFunc(k.value.keys(), func(k key) bool { return k.name == name }) {
			return k.name
		}
	}
	return ""
}

// readKeys reads values in the order of the table, whatever their order in the
// file: so one may build on those above it.
func (r *reader) readKeys(written map[string]ast.Node, known []key) {
	for _, k := range known {
		if n, ok := written[k.name]; ok {
			r.within(k.name, func() {
				before := len(r.faults)
				k.value.read(r, n)
				if len(r.faults) == before {
					r.places[r.path] = place{r, n}
				}
			})
		}
	}
}

// within runs read with the path of what stands at name.
func (r *reader) within(name string, read func()) {
	before, key := r.path, r.key
	r.path, r.key = below(r.path, name), name
	read()
	r.path, r.key = before, key
}

// written returns where the value of a key of the mapping that is being read was
// written, if it was and could be read.
func (r *reader) written(name string) (ast.Node, bool) {
	p, ok := r.places[below(r.path, name)]
	return p.n, ok
}

// need notes a fault unless the mapping that is being read has a key.
func (r *reader) need(n ast.Node, name, do, what string) {
	if _, ok := r.written(name); !ok {
		r.fault(n, do, "%s", what)
	}
}

// comesLater reports whether a key is of the design but not of this version.
func comesLater(key string) bool {
	return key == "fleet"
}

// list returns the items of a sequence.
func (r *reader) list(n ast.Node) []ast.Node {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		if r.readable(n) {
			r.fault(n, `begin each item with "- "`, "here must be a list, not %s", shape(n))
		}
		return nil
	}
	return s.Values
}

// text returns a single value as it was written, without its quotes.
func (r *reader) text(n ast.Node) (string, bool) {
	s, ok := r.secretText(n)
	if ok && strings.Contains(s, "${") {
		r.fault(n, "write the value itself", "${...} is read only where a secret stands: in an alert channel, or a header of traces")
		return "", false
	}
	return s, ok
}

// secretText is text where "${...}" is allowed.
func (r *reader) secretText(n ast.Node) (string, bool) {
	if !r.readable(n) {
		return "", false
	}
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, true
	case *ast.LiteralNode:
		return v.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	r.fault(n, "", "here must be a single value, not %s", shape(n))
	return "", false
}

// readable notes a fault if n is a part of YAML that only hides what is written.
func (r *reader) readable(n ast.Node) bool {
	var what string
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		what = "anchors, aliases and merge keys are not read"
	case *ast.TagNode, *ast.DirectiveNode:
		what = "tags and directives are not read"
	case *ast.MappingKeyNode:
		what = `keys that begin with "?" are not read`
	default:
		return true
	}
	r.fault(n, "write the value out, or put it under defaults", "%s", what)
	return false
}

func isNull(n ast.Node) bool {
	_, ok := n.(*ast.NullNode)
	return ok
}

// shape names what kind of value a node is.
func shape(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	default:
		return "a single value"
	}
}
