package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Exit codes. Scripts rely on them.
const (
	exitGood      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitBadConfig = 3
)

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

// execute runs one command line. A command that writes a log hands it to keepLog.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer, keepLog func(*logger)) int {
	begun := false
	root := &cobra.Command{
		Use: "recloser",
		Long: `Stops calling what is down or slow, and resumes by itself.
Exit codes: 0 good, 1 failed, 2 wrong command line, 3 bad config.`,
		Example: `  recloser demo                       see it work, nothing to configure
  recloser check recloser.yaml        find every mistake in a config
  recloser serve -c recloser.yaml     run the gateway`,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { begun = true },
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(demoCommand(), hotelCommand(), serveCommand(keepLog), checkCommand(), testCommand(), versionCommand())
	root.InitDefaultHelpFlag()
	_ = root.Flags().MarkHidden("help") // it is there, and the help's last line names it
	root.InitDefaultCompletionCmd(args...)
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Example = `  source <(recloser completion bash)                 in this shell
  recloser completion zsh > "${fpath[1]}/_recloser"  in every new one`
	}

	cmd, err := root.ExecuteContextC(ctx)
	e, coded := errors.AsType[exit](err)
	switch {
	case err == nil:
		return exitGood
	case !begun: // cobra refused the command line
		e = exit{exitUsage, err}
	case !coded:
		e = exit{exitFailed, err}
	}
	if e.err != nil {
		fmt.Fprintln(stderr, inWords(e.err))
	}
	if e.code == exitUsage {
		fmt.Fprintf(stderr, "Try %s --help.\n", cmd.CommandPath())
	}
	return e.code
}

// inWords shows the lines of a config file that are wrong.
func inWords(err error) string {
	if faults, ok := errors.AsType[config.Errors](err); ok {
		return faults.Detail()
	}
	return "recloser: " + strings.TrimSpace(err.Error())
}
