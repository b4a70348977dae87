package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/recloser-go/recloser/gateway/internal/demo"
	"github.com/recloser-go/recloser/gateway/internal/tempstore"
)

func demoCommand() *cobra.Command {
	var d demoRun
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch an outage with and without Recloser",
		Long: `Watch an outage with and without Recloser: the same guests, twice twelve hotels,
three of which fall ill; on a terminal again every 45 s until Ctrl-C. The panel
opens on a desktop, a page shows both ways: for this machine only. With --fleet:
gateways whose store is cut off, killed, and back. More: docs/demo.md.`,
		Example: `  recloser demo
  recloser demo --fleet 3 --store redis
  recloser demo --headless --check --report - | jq .lanes.protected.asks`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.complete(cmd.Flags()); err != nil {
				return exit{exitUsage, err}
			}
			return d.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&d.headless, "headless", false, "plain lines; so off a terminal, and with --fleet")
	flags.BoolVar(&d.once, "once", false, "one; so with --headless, --report, --check and --fleet")
	flags.DurationVar(&d.length, "for", 0, "`time` guests come for an outage: 45s, with --fleet 74s")
	flags.BoolVar(&d.noBrowser, "no-browser", false, "open no browser; so with --headless and --fleet")
	flags.IntVar(&d.fleet, "fleet", 0, "`how many` gateways share a store, 3 or 4")
	flags.StringVar(&d.store, "store", "redis", "`what` they share: "+strings.Join(tempstore.Kinds(), " or "))
	flags.StringVar(&d.report, "report", "", "write what was measured to `FILE` as JSON; - is stdout")
	flags.BoolVar(&d.check, "check", false, "exit with 1 if something that must hold does not")
	flags.StringVar(&d.colour, "color", "auto", "`when` to colour: auto, always or never")
	flags.BoolVar(&d.ascii, "ascii", false, "no other marks; so by default without UTF-8")
	flags.StringVar(&d.picture, "picture", "", "write the screen as SVG to `FILE`, for docs/demo.svg")
	_ = flags.MarkHidden("picture") // it is there
	return cmd
}

// hotelCommand is what the demo starts for each of its hotels.
func hotelCommand() *cobra.Command {
	return &cobra.Command{
		Use:    demo.HotelCommand + " NUMBER",
		Short:  "Run one hotel of the demo",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := strconv.Atoi(args[0])
			if err != nil {
				return exit{exitUsage, fmt.Errorf("the hotel's number: %w", err)}
			}
			return demo.RunHotel(number, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// demoRun is a command line of recloser demo.
type demoRun struct {
	headless, once, noBrowser, check, ascii bool

	length                  time.Duration
	fleet                   int
	store                   string
	report, colour, picture string
}

// complete fills in what depends on other flags, and refuses what does not go together.
func (d *demoRun) complete(flags *pflag.FlagSet) error {
	if !flags.Changed("for") {
		d.length = demo.DefaultScript().Length
		if d.fleet > 0 {
			d.length = demo.DefaultFleetScript().Length
		}
	}
	switch {
	case d.length <= 0:
		return fmt.Errorf("--for is how long guests come, such as 45s, not %s", d.length)
	case !flags.Changed("fleet") && flags.Changed("store"):
		return errors.New("--store is what several gateways share: say how many, as in --fleet 3")
	case flags.Changed("fleet") && (d.fleet < demo.LeastGateways || d.fleet > demo.MostGateways):
		return fmt.Errorf("--fleet is how many gateways share a store, %d to %d, not %d", demo.LeastGateways, demo.MostGateways, d.fleet)
	case d.store == "memory":
		return errors.New("--store memory is of one process, and these gateways have one each: --store " + strings.Join(tempstore.Kinds(), " or "))
	case !slices.Contains(tempstore.Kinds(), d.store):
		return fmt.Errorf("--store is %s, not %q", strings.Join(tempstore.Kinds(), " or "), d.store)
	case d.fleet > 0 && d.picture != "":
		return errors.New("--picture is of the demo without --fleet")
	}
	return nil
}

func (d demoRun) run(ctx context.Context, stdout, stderr io.Writer) error {
	o := demo.Options{Paper: demo.Paper{Out: stdout, ASCII: d.ascii || !localeIsUTF8()}, Script: demo.DefaultScript()}
	o.Script.Length = d.length
	if d.report == "-" {
		o.Out = stderr // words give way to data
	}
	terminal, isTerminal := terminalBehind(o.Out)
	switch d.colour {
	case "auto":
		o.Colour = isTerminal && os.Getenv("NO_COLOR") == ""
	case "always":
		o.Colour = true
	case "never":
	default:
		return exit{exitUsage, fmt.Errorf("--color is auto, always or never, not %q", d.colour)}
	}
	if isTerminal && !d.headless {
		o.Size = sizeOf(terminal)
		o.Again = d.again()
		if !d.noBrowser {
			o.Opened = func(panel, _ string) { openBrowser(panel) }
		}
	}

	report, err := newOutput("report", d.report)
	if err != nil {
		return err
	}
	picture, err := newOutput("picture", d.picture)
	if err != nil {
		return err
	}
	if d.picture != "" {
		o.Picture = &picture.content
	}
	measured, kept, err := d.play(ctx, o)
	switch {
	case errors.Is(err, context.Canceled) && o.Again:
		fmt.Fprintln(stderr, "Its first outage was not over yet, so there is no report. None of its processes is left.")
		return nil
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "The demo was stopped before its end. None of its processes is left.")
		return exit{code: exitFailed}
	case err != nil:
		return err
	}
	if _, err := measured.WriteTo(&report.content); err != nil {
		return err
	}
	if err := errors.Join(report.put(stdout), picture.put(stdout)); err != nil {
		return err
	}
	if d.check && !kept {
		return exit{exitFailed, errors.New("something that must hold does not: see above")}
	}
	return nil
}

// again reports whether a run on a terminal goes on after an outage: what wants a
// result wants it now.
func (d demoRun) again() bool {
	return !d.once && !d.check && d.report == "" && d.picture == "" && d.fleet == 0
}

// play plays the demo that was asked for.
func (d demoRun) play(ctx context.Context, o demo.Options) (report io.WriterTo, kept bool, err error) {
	if d.fleet == 0 {
		result, err := demo.Run(ctx, o)
		return result.Report, result.Kept, err
	}
	script := demo.DefaultFleetScript()
	script.Length = d.length
	result, err := demo.RunFleet(ctx, demo.FleetOptions{Paper: o.Paper, Gateways: d.fleet, Store: d.store, Script: script})
	return result.Report, result.Kept, err
}

// output is what goes to a file in the end, as a whole or not at all: whoever
// finds the file finds a run that was played to its end.
type output struct {
	flag, file string // file may be empty, or - for stdout
	content    bytes.Buffer
}

// newOutput tries what put will need: afterwards is late for bad news.
func newOutput(flag, file string) (*output, error) {
	o := &output{flag: flag, file: file}
	if file == "" || file == "-" {
		return o, nil
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		o.file = target
	}
	switch info, err := os.Stat(o.file); {
	case err == nil && info.IsDir():
		return nil, o.failed(errors.New(file + " is a directory"))
	case err == nil && !info.Mode().IsRegular():
		return o, nil
	}
	trial, err := os.MkdirTemp(filepath.Dir(o.file), ".recloser-")
	if err != nil {
		return nil, o.failed(err)
	}
	return o, os.Remove(trial)
}

func (o *output) put(stdout io.Writer) error {
	switch info, err := os.Stat(o.file); {
	case o.file == "":
		return nil
	case o.file == "-":
		_, err := o.content.WriteTo(stdout)
		return err
	case err == nil && !info.Mode().IsRegular(): // a device or a pipe: nothing may take its place
		return o.failed(os.WriteFile(o.file, o.content.Bytes(), 0))
	}
	beside, err := os.MkdirTemp(filepath.Dir(o.file), ".recloser-")
	if err != nil {
		return o.failed(err)
	}
	defer os.RemoveAll(beside)
	whole := filepath.Join(beside, filepath.Base(o.file))
	file, err := os.Create(whole)
	if err != nil {
		return o.failed(err)
	}
	_, err = o.content.WriteTo(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return o.failed(err)
	}
	return o.failed(os.Rename(whole, o.file))
}

func (o *output) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the %s cannot be written: %w: name another file with --%[1]s", o.flag, err)
}

// terminalBehind returns the terminal that w writes to, and false if it is
// none or one that can only append.
func terminalBehind(w io.Writer) (*os.File, bool) {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil, false
	}
	return file, term.IsTerminal(int(file.Fd()))
}

// sizeOf returns how large a terminal is whenever asked.
func sizeOf(terminal *os.File) func() (width, height int) {
	return func() (int, int) {
		width, height, err := term.GetSize(int(terminal.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}
}

// localeIsUTF8 reports whether the reader can be shown more than ASCII. Without
// any locale, as in a container, the terminal most likely can.
func localeIsUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			locale = strings.ToLower(strings.ReplaceAll(locale, "-", ""))
			return strings.Contains(locale, "utf8")
		}
	}
	return true
}
