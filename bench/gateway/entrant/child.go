package entrant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	readyWithin = 20 * time.Second
	stopWithin  = 5 * time.Second
	pollEvery   = 20 * time.Millisecond
)

// child is a process that we started, and end by its id.
type child struct {
	cmd    *exec.Cmd
	output string // file
	done   chan struct{}
}

func startChild(cmd *exec.Cmd, output string) (*child, error) {
	file, err := os.Create(output)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	endWithUs(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, output: output, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ProcessState says how it ended
		close(c.done)
	}()
	return c, nil
}

// awaitAnswer returns once a call to url is answered well, or the process has
// ended, or the time is over.
func (c *child) awaitAnswer(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if answers(ctx, url) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-c.done:
			return c.ended()
		case <-ctx.Done():
			return fmt.Errorf("%s is not answered well after %v: %s", url, readyWithin, c.said())
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // nothing of it is wanted
	return response.StatusCode == http.StatusOK
}

func (c *child) ended() error {
	select {
	case <-c.done:
		return fmt.Errorf("it ended by itself, %s: %s", c.cmd.ProcessState, c.said())
	default:
		return nil
	}
}

// said is the end of what it wrote.
func (c *child) said() []byte {
	text, err := os.ReadFile(c.output)
	if err != nil {
		return []byte(err.Error())
	}
	const most = 1000
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}

func (c *child) stop() {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		_ = c.cmd.Process.Kill() // it cannot be told otherwise
	}
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		_ = c.cmd.Process.Kill() // it may have ended just now
		<-c.done
	}
}

// freePorts returns ports that nobody listened on just now.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all are held until all are known
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
