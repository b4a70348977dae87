package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	flagGroup   = "recloser_group" // the annotation of a flag that names the heading it stands under
	serverFlags = "Gateway"        // flags of that group are told in one line: they are everywhere
)

// grouped puts the flags that add defines under a heading.
func grouped(flags *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	part := pflag.NewFlagSet("", pflag.ContinueOnError)
	part.SortFlags = false
	add(part)
	part.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{flagGroup: {heading}}
		flags.AddFlag(f)
	})
	flags.SortFlags = false
}

// withReason adds the flag that says why, below a heading of its own.
func withReason(flags *pflag.FlagSet, reason *string) {
	grouped(flags, "Why", func(flags *pflag.FlagSet) {
		flags.StringVar(reason, "reason", "", "`why`, shown to everybody who looks")
	})
}

func headingOf(f *pflag.Flag) string {
	if names := f.Annotations[flagGroup]; len(names) > 0 {
		return names[0]
	}
	return "Flags"
}

// writeHelp fits on a small terminal: what it does, how it is called, examples
// and flags, and nothing twice.
func writeHelp(w io.Writer, cmd *cobra.Command) {
	fmt.Fprintln(w, sentence(cmd))
	if !cmd.Runnable() && !cmd.HasSubCommands() { // a topic
		return
	}
	fmt.Fprintf(w, "\nUsage: %s\n", usage(cmd))
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if !cmd.HasParent() {
		writeGroups(w, cmd)
		return
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintln(w, "\nCommands:")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-12s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	writeFlags(w, cmd.LocalFlags())
}

// usage is how a command is called.
func usage(cmd *cobra.Command) string {
	use := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	if len(visible(cmd.LocalFlags())) > 0 {
		use += " [flags]"
	}
	return use
}

// sentence is what a command does.
func sentence(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

// writeGroups lists the commands of the program.
func writeGroups(w io.Writer, root *cobra.Command) {
	fmt.Fprintln(w, "\nCommands:")
	line := func(title string, in func(*cobra.Command) bool) {
		var names []string
		for _, sub := range root.Commands() {
			if sub.IsAvailableCommand() && in(sub) {
				names = append(names, sub.Name())
			}
		}
		fmt.Fprintf(w, "  %-8s %s\n", title, strings.Join(names, ", "))
	}
	for _, group := range root.Groups() {
		line(group.Title, func(c *cobra.Command) bool { return c.GroupID == group.ID })
	}
	line("Else", func(c *cobra.Command) bool { return c.GroupID == "" })
	fmt.Fprintf(w, `
Exit codes: %s
More: %s COMMAND --help. Where the gateway is: %[2]s help server.
`, exitCodes, root.Name())
}

// writeFlags writes each flag in a line, below the heading of its group.
func writeFlags(w io.Writer, flags *pflag.FlagSet) {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	shown.SortFlags = false
	var headings, remote []string // the former of each line
	for _, f := range visible(flags) {
		if headingOf(f) == serverFlags {
			remote = append(remote, "--"+f.Name)
		} else {
			shown.AddFlag(f)
			headings = append(headings, headingOf(f))
		}
	}
	if len(headings)+len(remote) > 0 {
		fmt.Fprintln(w)
	}
	before := ""
	for i, line := range slices.Collect(strings.Lines(shown.FlagUsages())) { // aligned as one table
		if headings[i] != before {
			before = headings[i]
			fmt.Fprintf(w, "%s:\n", before)
		}
		fmt.Fprint(w, line)
	}
	if len(remote) > 0 {
		fmt.Fprintf(w, "%s: %s; see recloser help server\n", serverFlags, strings.Join(remote, ", "))
	}
}

func visible(flags *pflag.FlagSet) (all []*pflag.Flag) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			all = append(all, f)
		}
	})
	return all
}
