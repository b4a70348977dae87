package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

const (
	lookAgain = time.Second            // on a terminal, for what moves without an event
	lookSoon  = 100 * time.Millisecond // after an event: those of one moment are one look
)

// watch shows every change until ctx is done, which is its good end.
func (p *program) watch(ctx context.Context, api *client.Client, s statusRun, seen *snapshot) error {
	if _, err := seen.named(s.names); err != nil {
		return err
	}
	v := s.look(p.stdout)
	live := v.height > 0 && s.forPeople()
	var before *snapshot
	show := func(seen *snapshot) error {
		if live {
			return p.redraw(s, seen, s.look(p.stdout)) // as large as it is now
		}
		err := p.changes(s, v, before, seen)
		before = seen
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if live {
		fmt.Fprint(p.stdout, "\x1b[?1049h\x1b[?25l")       // a screen of its own, without a cursor
		defer fmt.Fprint(p.stdout, "\x1b[?25h\x1b[?1049l") // and back
	}
	if err := show(seen); err != nil {
		return err
	}
	told := make(chan error, 1) // nil: something happened. Those that find it full are told by the one in it
	say := func(err error) {
		select {
		case told <- err:
		default:
		}
	}
	go func() {
		for _, err := range api.Stream(ctx, 0, func(error) { say(nil) }) {
			say(err)
		}
	}()
	every := time.NewTicker(lookAgain)
	defer every.Stop()
	lost := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-told:
			if failure, ok := errors.AsType[*client.Error](err); ok && failure.Kind == client.NotAllowed {
				return err
			}
			wait(ctx, lookSoon)
		case <-every.C:
		}
		seen, err := look(ctx, api)
		failure, remote := errors.AsType[*client.Error](err)
		switch {
		case ctx.Err() != nil:
			return nil
		case remote && (failure.Kind == client.Unreachable || failure.Kind == client.Failed):
			if !lost {
				fmt.Fprintf(p.stderr, "%s; trying again\n", inWords(err))
			}
			lost = true
			continue
		case err != nil:
			return err
		}
		if lost {
			fmt.Fprintf(p.stderr, "recloser: %s answers again\n", api.Server())
		}
		lost = false
		if err := show(seen); err != nil {
			return err
		}
	}
}

// wait returns after d, or once ctx is done.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// redraw shows as much as the terminal has room for, from its first line.
func (p *program) redraw(s statusRun, seen *snapshot, v view) error {
	chosen, err := seen.named(s.names)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := statusTable(chosen, seen.at.At, s.form == formWide).write(&text, v); err != nil {
		return err
	}
	lines := slices.Collect(strings.Lines(text.String()))
	const around = 2 // what is written about the whole
	if room := v.height - around; len(lines) > room && room > 1 {
		more := fmt.Sprintf("and %d more\n", len(lines)-room+1)
		lines = append(lines[:room-1], more)
	}
	off := 0
	for _, d := range chosen {
		if isCutOff(d.Value.State, d.Value.Shadow) {
			off++
		}
	}
	about := fmt.Sprintf("%d of %d cut off at %s; Ctrl-C ends", off, len(chosen), clock(seen.at.At, seen.at.At))
	_, err = fmt.Fprintf(p.stdout, "\x1b[H%s\x1b[K\n\x1b[K\n%s\x1b[J", v.cut(about, v.width),
		strings.ReplaceAll(strings.Join(lines, ""), "\n", "\x1b[K\n"))
	return err
}

// changes writes a line for each dependency that is not as it was before.
func (p *program) changes(s statusRun, v view, before, seen *snapshot) error {
	chosen, err := seen.named(s.names)
	if err != nil {
		return err
	}
	was := make(map[string]client.Dependency)
	if before != nil {
		for _, d := range before.all {
			was[d.Value.ID] = d.Value
		}
	}
	for _, e := range chosen {
		d := e.Value
		if old, known := was[d.ID]; known && old.Version == d.Version && old.State == d.State && keysCutOff(old) == keysCutOff(d) {
			continue
		}
		if s.form == formJSON {
			if _, err := fmt.Fprintf(p.stdout, "%s\n", compact(e.Raw)); err != nil {
				return err
			}
			continue
		}
		sign := mark(felt(d.State, d.Shadow))
		line := []string{d.Since.UTC().Format(time.RFC3339), sign.text, d.ID, stateOf(d)}
		for _, more := range []string{nextOf(d, seen.at.At), whyOf(d)} {
			if more != "" {
				line = append(line, "- "+more)
			}
		}
		if _, err := fmt.Fprintln(p.stdout, v.line(strings.Join(line, " "))); err != nil {
			return err
		}
	}
	return nil
}
