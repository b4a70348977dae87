package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/client"
	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/plain"
	"github.com/recloser-go/recloser/internal/suggest"
)

// Exit codes. Scripts rely on them.
const (
	exitGood        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitBadConfig   = 3
	exitNotFound    = 4
	exitNotAllowed  = 5
	exitUnreachable = 6
	exitChanged     = 7
	exitCutOff      = 10 // of status --exit-code alone
)

// exitCodes says them to people.
const exitCodes = `0 good, 1 failed, 2 wrong command line, 3 bad config, 4 not found,
5 not allowed, 6 gateway out of reach, 7 changed meanwhile, 10 cut off (status)`

// exit is an error with an exit code of its own. Without an err everything has
// been said already.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// badUsage is the error of a command line that makes no sense.
func badUsage(format string, args ...any) error {
	return exit{exitUsage, fmt.Errorf(format, args...)}
}

// program is one run of the command line.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	keepLog        func(*logger) // gets the log of a command that writes one
	asks           bool          // there is somebody at a terminal who can be asked
}

// execute runs one command line. A command that writes a log hands it to keepLog.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer, keepLog func(*logger)) int {
	_, in := terminalBehind(os.Stdin)
	_, out := terminalBehind(stderr)
	return (&program{stdin: os.Stdin, stdout: stdout, stderr: stderr, keepLog: keepLog, asks: in && out}).execute(ctx, args)
}

// root makes the tree of all commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "recloser",
		Short: "Stop calling what is down or slow, and resume by itself",
		Example: `  recloser demo                     # see it work, nothing to configure
  recloser check recloser.yaml      # find every mistake in a config
  recloser serve -c recloser.yaml   # run the gateway`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Run", []*cobra.Command{demoCommand(), p.serveCommand(), p.reloadCommand(), p.doctorCommand()}},
		{"Look", []*cobra.Command{p.statusCommand(), p.eventsCommand(), p.auditCommand(), p.alertsCommand()}},
		{"Act", []*cobra.Command{
			p.isolateCommand(), p.holdCommand(), p.releaseCommand(), p.resetCommand(), p.trialCommand(),
			p.maintenanceCommand(), p.dependencyCommand(), p.tokenCommand(),
		}},
		{"Prepare", []*cobra.Command{checkCommand(), p.configCommand(), testCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(hotelCommand(), versionCommand(), serverTopic())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd) })
	root.InitDefaultHelpFlag()
	_ = root.Flags().MarkHidden("help") // it is there, and the help's last line names it
	root.InitDefaultHelpCmd()
	return root
}

// parent makes a command that only holds others. Alone it says which.
func parent(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(verbs...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		known := func(yield func(string) bool) {
			for _, verb := range verbs {
				if !yield(verb.Name()) {
					return
				}
			}
		}
		return fmt.Errorf("unknown command %q of %s; %s", args[0], cmd.Name(), suggest.DidYouMean(args[0], known))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

func (p *program) execute(ctx context.Context, args []string) int {
	root, begun := p.root(), false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	root.SetArgs(args)
	root.InitDefaultCompletionCmd(args...)
	describeCompletion(root)

	cmd, err := root.ExecuteContextC(ctx)
	e, coded := errors.AsType[exit](err)
	failure, remote := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		return exitGood
	case !begun: // cobra refused the command line
		e = exit{exitUsage, err}
	case !coded && remote:
		e = exit{codeOf(failure.Kind), err}
	case !coded:
		e = exit{exitFailed, err}
	}
	if e.err != nil {
		fmt.Fprintln(p.stderr, inWords(e.err))
	}
	if e.code == exitUsage && !remote {
		fmt.Fprintf(p.stderr, "Try %s --help.\n", cmd.CommandPath())
	}
	return e.code
}

// codeOf is the exit code of what the gateway answers, or does not.
func codeOf(k client.Kind) int {
	switch k {
	case client.Usage:
		return exitUsage
	case client.NotFound:
		return exitNotFound
	case client.NotAllowed:
		return exitNotAllowed
	case client.Unreachable:
		return exitUnreachable
	case client.Changed:
		return exitChanged
	case client.Failed:
	}
	return exitFailed
}

// inWords shows the lines of a config file that are wrong.
func inWords(err error) string {
	if faults, ok := errors.AsType[config.Errors](err); ok {
		return faults.Detail()
	}
	// Others wrote parts of it, such as a server that is no gateway: none of it may
	// steer the terminal.
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(line)
	}
	return "recloser: " + strings.Join(lines, "\n")
}
