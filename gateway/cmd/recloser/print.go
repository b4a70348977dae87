package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/plain"
)

// printing is how a command writes its data.
type printing struct {
	form, colour string
	forms        []string
}

// The forms that most commands can write.
const (
	formTable = "table"
	formWide  = "wide"
	formJSON  = "json"
	formYAML  = "yaml"
	formName  = "name"
)

func (o *printing) flags(flags *pflag.FlagSet, forms ...string) {
	o.forms = forms
	grouped(flags, "Output", func(flags *pflag.FlagSet) {
		flags.StringVarP(&o.form, "output", "o", forms[0], "a `form`: "+either(forms))
		flags.StringVar(&o.colour, "color", "auto", "`when` to colour: auto, always or never")
	})
	for _, name := range []string{"output", "color"} {
		flags.Lookup(name).DefValue = "" // the first one that is named
	}
}

func (o *printing) check() error {
	if !slices.Contains(o.forms, o.form) {
		return badUsage("--output is %s, not %q", either(o.forms), o.form)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.colour) {
		return badUsage("--color is auto, always or never, not %q", o.colour)
	}
	return nil
}

// either names a choice of several words: "json, yaml or name".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// forPeople reports whether what is written is a table, and not for a program.
func (o *printing) forPeople() bool { return o.form == formTable || o.form == formWide }

// look is what w can show.
func (o *printing) look(w io.Writer) view {
	terminal, isTerminal := terminalBehind(w)
	l := view{ascii: !localeIsUTF8(), colour: o.colour == "always" || o.colour == "auto" && isTerminal && os.Getenv("NO_COLOR") == ""}
	if isTerminal {
		l.width, l.height = sizeOf(terminal)()
	}
	return l
}

// list writes what the API said in a list, which has a name there: for programs, by id
// alone, or as a table.
func list[T any](w io.Writer, o printing, name string, all []client.Entry[T], id func(T) string, inTable func() *table) error {
	switch o.form {
	case formJSON, formYAML:
		return document(w, o.form, name, all)
	case formName:
		for _, e := range all {
			fmt.Fprintln(w, plain.Line(id(e.Value)))
		}
		return nil
	}
	return inTable().write(w, o.look(w))
}

// document writes a list of what the API said, for programs.
func document[T any](w io.Writer, form, name string, entries []client.Entry[T]) error {
	raw := make([][]byte, len(entries))
	for i, e := range entries {
		raw[i] = e.Raw
	}
	// Not by json.Marshal, which would write < as \u003c.
	return writeDocument(w, form, fmt.Appendf(nil, "{%q:[%s]}", name, bytes.Join(raw, []byte(","))))
}

// writeDocument writes JSON as JSON or YAML.
func writeDocument(w io.Writer, form string, body []byte) error {
	if form == formYAML {
		text, err := yaml.JSONToYAML(body)
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, body, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, text.String())
	return err
}

// compact is JSON in one line.
func compact(body []byte) []byte {
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil {
		return body // it is valid, or it would not have come this far
	}
	return line.Bytes()
}
