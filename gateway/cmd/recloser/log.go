package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

const (
	logRoom  = 1024        // lines that wait for whoever reads the log
	logFlush = time.Second // how long the last lines may take at the end
)

// logger is the log of a command that runs on and on.
type logger struct {
	*slog.Logger
	lines       *lineWriter
	forPrograms bool // each line is JSON
}

// say writes lines that are for a person; where programs read the log, as it is for them.
func (l *logger) say(text string) {
	if l.forPrograms {
		l.Error("recloser says", "text", text)
		return
	}
	_, _ = fmt.Fprintln(l.lines, text)
}

// flush waits until all is written, but not for ever.
func (l *logger) flush() { l.lines.flush(logFlush) }

// newLogger starts the goroutine that writes to w, which lives as long as the
// program.
func newLogger(w io.Writer, format, level string) (*logger, error) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	least, known := levels[strings.ToLower(level)]
	if !known {
		return nil, fmt.Errorf("--log-level is debug, info, warn or error, not %q", level)
	}
	o := &slog.HandlerOptions{Level: least}
	var to func(io.Writer) slog.Handler
	switch format {
	case "text":
		to = func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, o) }
	case "json":
		to = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, o) }
	default:
		return nil, fmt.Errorf("--log-format is text or json, not %q", format)
	}
	direct := slog.New(to(w))
	lines := newLineWriter(w, logRoom, func(n uint64) {
		direct.Warn("log lines were left out: they came faster than they were read", "lines", n)
	})
	return &logger{slog.New(to(lines)), lines, format == "json"}, nil
}

// lineWriter keeps a reader that is slow or stuck, such as a full pipe, from
// holding up those who write: lines wait in a queue, and what has no room there
// is dropped. Each Write is one line. It is safe for concurrent use.
type lineWriter struct {
	queue   chan line
	dropped atomic.Uint64
}

type line struct {
	text    []byte
	written chan<- struct{} // if set, there is no text: closed when all before it is written
}

// newLineWriter starts the goroutine that writes to w. It calls lost with the
// number of lines that were dropped since it last did.
func newLineWriter(w io.Writer, room int, lost func(lines uint64)) *lineWriter {
	l := &lineWriter{queue: make(chan line, room)}
	go func() {
		for next := range l.queue {
			if n := l.dropped.Swap(0); n > 0 {
				lost(n)
			}
			if next.written != nil {
				close(next.written)
				continue
			}
			_, _ = w.Write(next.text) // there is nowhere to say that the log cannot be written
		}
	}()
	return l
}

// Write never waits.
func (l *lineWriter) Write(p []byte) (int, error) {
	select {
	case l.queue <- line{text: bytes.Clone(p)}:
	default:
		l.dropped.Add(1)
	}
	return len(p), nil
}

// flush waits until all lines so far are written, but no longer than that.
func (l *lineWriter) flush(atMost time.Duration) {
	late := time.NewTimer(atMost)
	defer late.Stop()
	written := make(chan struct{})
	select {
	case l.queue <- line{written: written}:
	case <-late.C:
		return
	}
	select {
	case <-written:
	case <-late.C:
	}
}
