package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// everyCommand calls f with all that people can call.
func everyCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			everyCommand(sub, f)
		}
	}
}

// tree is all commands, the shells' completions too.
func tree() *cobra.Command {
	root := (&program{}).root()
	root.InitDefaultCompletionCmd()
	describeCompletion(root)
	return root
}

// Help fits on a small terminal, and says what a command does, how it is called and
// what that looks like.
func TestHelp(t *testing.T) {
	commands := 0
	everyCommand(tree(), func(cmd *cobra.Command) {
		commands++
		path := strings.Fields(cmd.CommandPath())[1:]
		r := run(t, append(path, "--help")...)
		if r.code != exitGood || r.stderr != "" {
			t.Errorf("%q: exit code %d, %s", path, r.code, r.stderr)
		}
		lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
		if len(lines) >= 24 {
			t.Errorf("%q: %d lines\n%s", path, len(lines), r.stdout)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > 80 || line != strings.TrimRight(line, " ") {
				t.Errorf("%q: not for 80 columns: %s|", path, line)
			}
		}
		if first := lines[0]; !regexp.MustCompile(`^[A-Z].*[.,:a-z]$`).MatchString(first) {
			t.Errorf("%q does not begin with a sentence: %s", path, first)
		}
		if n := len(regexp.MustCompile(`(?m)^  .*\b(recloser|RECLOSER|serve)\b`).FindAllString(cmd.Example, -1)); n < 3 {
			t.Errorf("%q has %d examples", path, n)
		}
		if !strings.Contains(r.stdout, "\nUsage: recloser") || !strings.Contains(r.stdout, "\nExamples:\n") {
			t.Errorf("%q: %s", path, r.stdout)
		}
	})
	if commands < 30 {
		t.Errorf("found %d commands", commands)
	}
}

// The command lines that help shows are ones that the program takes.
func TestExamplesAreTaken(t *testing.T) {
	everyCommand(tree(), func(cmd *cobra.Command) {
		for _, m := range regexp.MustCompile(`(?m)\brecloser ([a-z][^|&>#\n]*)`).FindAllStringSubmatch(cmd.Example, -1) {
			words := strings.Fields(regexp.MustCompile(`"[^"]*"|'[^']*'`).ReplaceAllString(m[1], "x"))
			last := len(words) - 1
			words[last] = strings.TrimSuffix(words[last], ")") // of <(...)
			if r := run(t, append(words, "--help")...); r.code != exitGood || !strings.Contains(r.stdout, "Usage: recloser "+words[0]) {
				t.Errorf("%s: recloser %s: %s", cmd.CommandPath(), m[1], r.stderr)
			}
		}
	})
}

func TestHelpOfTheServer(t *testing.T) {
	r := run(t, "help", "server")
	for _, flag := range []string{"--server", "--token-file", "--ca", "--insecure-http", "RECLOSER_SERVER", "RECLOSER_TOKEN", "RECLOSER_CA"} {
		if !strings.Contains(r.stdout, flag) {
			t.Errorf("no %s in\n%s", flag, r.stdout)
		}
	}
	for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(r.stdout, -1) {
		status, _, err := tree().Find([]string{"status"})
		if err != nil || status.Flags().Lookup(flag[2:]) == nil {
			t.Errorf("status has no %s", flag)
		}
	}
}

// The guide has each command, each exit code, and a table that the program writes.
func TestGuideIsOfThisProgram(t *testing.T) {
	text, err := os.ReadFile("../../../docs/CLI.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	for _, cmd := range tree().Commands() {
		if cmd.IsAvailableCommand() && !strings.Contains(guide, "`recloser "+cmd.Name()+"`") {
			t.Errorf("%s is not described", cmd.Name())
		}
	}
	for _, code := range []int{exitGood, exitFailed, exitUsage, exitBadConfig, exitNotFound, exitNotAllowed, exitUnreachable, exitChanged, exitCutOff} {
		if !strings.Contains(guide, fmt.Sprintf("\n| %d | ", code)) {
			t.Errorf("exit code %d is not described", code)
		}
	}
	newFakeGateway(t)
	table, shown := run(t, "status").stdout, 0
	for line := range strings.Lines(guide) {
		if strings.ContainsAny(line, "●■◐") {
			shown++
			if !strings.Contains(table, line) {
				t.Errorf("shown, and not written by status:\n%s", line)
			}
		}
	}
	if shown < 4 {
		t.Errorf("%d lines of a table are shown", shown)
	}
}
