package httpbreaker

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// writer returns the ResponseWriter for the handler. Handlers ask it by a type
// assertion whether it can flush or give the connection away, so it says so if,
// and only if, the server's can.
func (a *answer) writer() http.ResponseWriter {
	flushes, hijacks := false, false
	for w := a.ResponseWriter; w != nil; w = unwrap(w) {
		switch w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			flushes = true
		}
		if _, ok := w.(http.Hijacker); ok {
			hijacks = true
		}
	}
	switch {
	case flushes && hijacks:
		return struct {
			*answer
			flusher
			hijacker
		}{a, flusher{a}, hijacker{a}}
	case flushes:
		return struct {
			*answer
			flusher
		}{a, flusher{a}}
	case hijacks:
		return struct {
			*answer
			hijacker
		}{a, hijacker{a}}
	}
	return a
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	informs := status >= 100 && status < 200 && status != http.StatusSwitchingProtocols
	if informs || a.start(status) {
		a.ResponseWriter.WriteHeader(status)
	}
}

func (a *answer) Write(p []byte) (int, error) {
	if !a.start(http.StatusOK) {
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

func (a *answer) WriteString(s string) (int, error) {
	if !a.start(http.StatusOK) {
		return len(s), nil
	}
	return io.WriteString(a.ResponseWriter, s)
}

// firstPart is how much ReadFrom copies by hand.
const firstPart = 512

// ReadFrom leaves it to the server to send a file in the best way. The first
// part goes by Write: a source that gives nothing is no answer.
func (a *answer) ReadFrom(src io.Reader) (n int64, err error) {
	if !a.hasBegun() {
		n, err = io.CopyN(onlyWriter{a}, src, firstPart)
		switch {
		case err == io.EOF: //nolint:errorlint // as io.Copy does
			return n, nil
		case err != nil:
			return n, err
		}
	}
	var rest int64
	if from, ok := a.ResponseWriter.(io.ReaderFrom); ok && a.start(http.StatusOK) {
		rest, err = from.ReadFrom(src)
	} else {
		rest, err = io.Copy(onlyWriter{a}, src)
	}
	return n + rest, err
}

// onlyWriter keeps io.Copy from asking for ReadFrom.
type onlyWriter struct{ io.Writer }

type flusher struct{ a *answer }

func (f flusher) Flush() { _ = f.FlushError() }

func (f flusher) FlushError() error {
	if !f.a.start(http.StatusOK) {
		return nil
	}
	return http.NewResponseController(f.a.ResponseWriter).Flush()
}

type hijacker struct{ a *answer }

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.a.ResponseWriter).Hijack()
	if err == nil {
		h.a.start(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}
