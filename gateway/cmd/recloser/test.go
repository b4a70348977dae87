package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/guard"
	"github.com/recloser-go/recloser/internal/suggest"
	"github.com/recloser-go/recloser/scenario"
)

func testCommand() *cobra.Command {
	var t testRun
	cmd := &cobra.Command{
		Use:   "test SCENARIO...",
		Short: "Play an outage on virtual time and check what the breaker does",
		Long: `Play scenario files, or all *.scenario in and below a folder, on virtual time,
and check what the breaker does in them. How they are written:
https://github.com/recloser-go/recloser/blob/main/docs/SCENARIOS.md

Exit code: 0 all good, 1 one fails, 2 wrong command line, 3 one is not played.`,
		Example: `  recloser test outage.scenario
  recloser test -c recloser.yaml --dependency hotel-3 scenarios/
  recloser test -o junit scenarios/ > report.xml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&t.output, "output", "o", "text", "a `form`: text, json or junit")
	flags.StringVarP(&t.config, "config", "c", "", "with settings of this `file`, not the scenario's")
	flags.StringVar(&t.dependency, "dependency", "", "the `id` in it; not needed if there is only one")
	flags.BoolVar(&t.update, "update", false, "write what was seen in place of exact values and ?")
	return cmd
}

// testRun is a command line of recloser test.
type testRun struct {
	output, config, dependency string
	update                     bool
}

var testOutputs = map[string]func(io.Writer, []*scenario.Result) error{
	"text": scenario.WriteText, "json": scenario.WriteJSON, "junit": scenario.WriteJUnit,
}

func (t testRun) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	write, ok := testOutputs[t.output]
	switch {
	case !ok:
		return exit{exitUsage, fmt.Errorf("--output is text, json or junit, not %q", t.output)}
	case len(args) == 0:
		return exit{exitUsage, errors.New("name at least one scenario file, or a folder of them")}
	case t.dependency != "" && t.config == "":
		return exit{exitUsage, errors.New("--dependency is one of a config file: name that with -c")}
	case t.update && t.config != "":
		return exit{exitUsage, errors.New("--update writes what the scenarios' own settings give: leave out -c")}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // little lives for long, so collecting it less often is a third faster
	files, err := scenarioFiles(args)
	if err != nil {
		return exit{exitUsage, err}
	}
	var settings *guard.Config // nil: each scenario's own
	if t.config != "" {
		if settings, err = t.settings(); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "With the settings of %s in %s; those of the scenarios do not count.\n", settings.Breaker.Name, t.config)
	}

	var results []*scenario.Result
	wrong, failed := false, false
	for _, file := range files {
		result, err := t.one(ctx, file, settings, stderr)
		switch {
		case errors.Is(err, context.Canceled):
			fmt.Fprintf(stderr, "Stopped while it played %s.\n", file)
			return exit{code: exitFailed}
		case err != nil: // the others are played all the same, and the report is of all
			wrong = true
			result = &scenario.Result{File: file, Err: err}
			fmt.Fprintln(stderr, detail(err))
		}
		failed = failed || !result.Good()
		results = append(results, result)
	}
	if err := write(stdout, results); err != nil {
		return err
	}
	switch {
	case wrong:
		return exit{code: exitBadConfig}
	case failed:
		return exit{code: exitFailed}
	}
	return nil
}

// detail writes an error for people, faults with the lines they are in.
func detail(err error) string {
	if faults, ok := errors.AsType[scenario.Faults](err); ok {
		return faults.Detail()
	}
	return inWords(err)
}

// one plays a file, and again once it is updated.
func (t testRun) one(ctx context.Context, file string, settings *guard.Config, stderr io.Writer) (*scenario.Result, error) {
	content, err := readScenario(file)
	if err != nil {
		return nil, fmt.Errorf("the scenario cannot be read: %w", err)
	}
	s, err := scenario.Parse(file, content)
	if err != nil {
		return nil, err
	}
	if settings != nil {
		s = s.With(*settings)
	}
	result, err := s.Run(ctx)
	if err != nil || !t.update || result.Good() {
		return result, err
	}
	content, changed := s.Update(content, result)
	if changed == 0 {
		return result, nil
	}
	if err := rewrite(file, content); err != nil {
		return nil, fmt.Errorf("the scenario cannot be written: %w", err)
	}
	fmt.Fprintf(stderr, "%s: %s written\n", file, count(changed, "value", "values"))
	if s, err = scenario.Parse(file, content); err != nil {
		return nil, err
	}
	return s.Run(ctx)
}

// readScenario reads a file, and no more of it than Parse needs to refuse it.
func readScenario(file string) ([]byte, error) {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() { // a pipe would have us wait for ever
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20+1))
}

// rewrite replaces the content of a file, or of the one that a link leads to, as
// a whole: what somebody wrote must outlive a full disk.
func rewrite(file string, content []byte) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	// A rename asks for the folder's permission alone.
	if info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only", file)
	}
	old, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".recloser-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// scenarioFiles replaces folders by the scenario files in them.
func scenarioFiles(args []string) (files []string, err error) {
	for _, arg := range args {
		arg = strings.TrimSuffix(arg, "/...") // as the go command has it
		info, err := os.Stat(arg)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no scenario %s", arg)
		}
		if err != nil || !info.IsDir() {
			files = append(files, arg)
			continue
		}
		before := len(files)
		err = filepath.WalkDir(arg, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Ext(file) == ".scenario" {
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("there is no *.scenario in %s", arg)
		}
	}
	return files, nil
}

// settings returns those of a dependency of the config file.
func (t testRun) settings() (*guard.Config, error) {
	c, err := config.Load(t.config)
	if err != nil {
		return nil, exit{exitBadConfig, err}
	}
	ids := make([]string, len(c.Dependencies))
	for i, d := range c.Dependencies {
		ids[i] = d.ID
	}
	i := slices.Index(ids, t.dependency)
	switch {
	case t.dependency == "" && len(ids) == 1:
		i = 0
	case t.dependency == "":
		return nil, exit{exitUsage, fmt.Errorf("%s has %d dependencies: name one with --dependency", t.config, len(ids))}
	case i < 0:
		return nil, exit{exitUsage, fmt.Errorf("%s has no dependency %q; %s", t.config, t.dependency, suggest.DidYouMean(t.dependency, slices.Values(ids)))}
	}
	d := c.Dependencies[i]
	g := &guard.Config{Breaker: d.Settings, Timeout: d.Timeout, AttemptTimeout: d.AttemptTimeout}
	g.Breaker.Name = d.ID
	return g, nil
}
