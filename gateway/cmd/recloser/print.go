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
	last := len(forms) - 1
	grouped(flags, "Output", func(flags *pflag.FlagSet) {
		flags.StringVarP(&o.form, "output", "o", forms[0], "a `form`: "+strings.Join(forms[:last], ", ")+" or "+forms[last])
		flags.StringVar(&o.colour, "color", "auto", "`when` to colour: auto, always or never")
	})
	for _, name := range []string{"output", "color"} {
		flags.Lookup(name).DefValue = "" // the first one that is named
	}
}

func (o *printing) check() error {
	if !slices.Contains(o.forms, o.form) {
		last := len(o.forms) - 1
		return badUsage("--output is %s or %s, not %q", strings.Join(o.forms[:last], ", "), o.forms[last], o.form)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.colour) {
		return badUsage("--color is auto, always or never, not %q", o.colour)
	}
	return nil
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
