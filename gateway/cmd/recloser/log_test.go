package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogOfAStuckReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		read := make(chan string)
		lines := newLineWriter(w, 10, func(n uint64) { fmt.Fprintf(w, "%d lost\n", n) })
		defer close(lines.queue) // ends its goroutine, as the bubble wants
		for i := range 25 {
			fmt.Fprintf(lines, "%d\n", i)
			synctest.Wait() // the first is stuck in the pipe, ten wait
		}
		start := time.Now()
		lines.flush(time.Second)
		if took := time.Since(start); took != time.Second {
			t.Errorf("flushing took %s, want the second that it was given", took)
		}
		go func() {
			var all bytes.Buffer
			_, _ = io.Copy(&all, r)
			read <- all.String()
		}()
		start = time.Now()
		lines.flush(time.Second)
		if took := time.Since(start); took != 0 {
			t.Errorf("flushing took %s with a reader that reads", took)
		}
		_ = w.Close()
		want := "0\n14 lost\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
		if got := <-read; got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}

func TestLogSaysWhatItLeftOut(t *testing.T) {
	r, w := io.Pipe()
	log, err := newLogger(w, "json", "info")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * logRoom {
		log.Info("busy")
	}
	read := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = io.Copy(&all, r)
		read <- all.String()
	}()
	log.say("the end")
	log.flush()
	_ = w.Close()
	got := <-read
	left := strings.Count(got, `"msg":"busy"`)
	if left < logRoom || left == 2*logRoom || !strings.Contains(got, `"msg":"log lines were left out: they came faster than they were read","lines":`) {
		t.Errorf("%d lines of %d, and\n%s", left, 2*logRoom, got)
	}
}

// Where programs read the log each line is JSON, also what is told of a config with a
// mistake on several lines.
func TestJSONLogIsJSONThroughout(t *testing.T) {
	for format, want := range map[string]bool{"json": true, "text": false} {
		var out bytes.Buffer
		log, err := newLogger(&out, format, "info")
		if err != nil {
			t.Fatal(err)
		}
		log.say("recloser.yaml:16:1: unknown key\n   16 | x\n      | ^")
		log.flush()
		all := true
		for line := range strings.Lines(out.String()) {
			all = all && json.Valid([]byte(line))
		}
		if all != want {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}
