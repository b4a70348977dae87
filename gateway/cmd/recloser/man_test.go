package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The man pages are what the commands say of themselves. They are made by
// go test ./cmd/recloser -run TestManPages -update.
func TestManPages(t *testing.T) {
	const dir = "../../../docs/man"
	pages := map[string]string{}
	everyCommand(tree(), func(cmd *cobra.Command) { pages[pageOf(cmd)+".1"] = manPage(cmd) })
	if *update {
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	there, err := filepath.Glob(dir + "/*.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		name := filepath.Base(file)
		page, err := os.ReadFile(file)
		if err != nil || string(page) != pages[name] {
			t.Errorf("%s is not what the command says of itself (%v): run make man", file, err)
		}
		delete(pages, name)
	}
	for name := range pages {
		t.Errorf("there is no docs/man/%s: run make man", name)
	}
}

func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// roff makes text that troff shows as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// manPage writes the page of a command, as man(7) has it.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	verbatim := func(text string) { fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(text)) }

	fmt.Fprintf(&b, ".TH %s 1 \"\" Recloser Recloser\n", strings.ToUpper(pageOf(cmd)))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageOf(cmd)), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, ".B %s\n", roff(usage(cmd)))
	if cmd.Long != "" {
		section("DESCRIPTION")
		b.WriteString(roff(strings.ReplaceAll(cmd.Long, "\n\n", "\n.PP\n")) + "\n")
	}
	heading := ""
	for _, f := range visible(cmd.LocalFlags()) {
		if heading == "" {
			section("OPTIONS")
		}
		if headingOf(f) != heading {
			heading = headingOf(f)
			fmt.Fprintf(&b, ".SS %s\n", heading)
		}
		name, means := pflag.UnquoteUsage(f)
		option := "--" + f.Name
		if f.Shorthand != "" {
			option = "-" + f.Shorthand + ", " + option
		}
		fmt.Fprintf(&b, ".TP\n.BI \"%s \" %s\n%s\n", roff(option), roff(name), roff(means))
	}
	section("EXAMPLES")
	verbatim(cmd.Example)
	section("EXIT STATUS")
	verbatim(exitCodes)
	var others []string
	if cmd.HasParent() {
		others = append(others, pageOf(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, pageOf(sub))
		}
	}
	section("SEE ALSO")
	fmt.Fprintf(&b, "%s(1)\n", roff(strings.Join(others, "(1), ")))
	return b.String()
}
