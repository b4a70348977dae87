package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/child"
)

// HotelCommand is the hidden subcommand under which the binary runs one hotel.
const HotelCommand = "demo-hotel"

// startLimit is how long hotels may take to start.
const startLimit = 30 * time.Second

// process is a hotel as seen by the demo that started it.
type process struct {
	number int
	url    *url.URL

	*child.Child
	faults io.WriteCloser // a fault a line; its end ends the hotel
	port   io.ReadCloser  // the hotel's first line
}

// startHotels starts that many hotels and waits for their ports. The caller's
// goroutine must be locked to its thread for as long as they are needed: see
// child.Start.
func startHotels(ctx context.Context, number int) ([]*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("demo: find the own program, to run the hotels: %w", err)
	}
	var all []*process
	for i := range number {
		p, err := startHotel(self, i+1)
		if err != nil {
			endHotels(all)
			return nil, fmt.Errorf("demo: start %s: %w", hotelID(i+1), err)
		}
		all = append(all, p)
	}
	defer time.AfterFunc(startLimit, func() { killHotels(all) }).Stop()
	defer context.AfterFunc(ctx, func() { killHotels(all) })()
	for _, p := range all {
		if err := p.awaitPort(); err != nil {
			endHotels(all)
			return nil, fmt.Errorf("demo: start %s: %w", hotelID(p.number), err)
		}
	}
	return all, nil
}

func startHotel(program string, number int) (*process, error) {
	cmd := exec.Command(program, HotelCommand, strconv.Itoa(number))
	// Twenty-four of them share the machine with what is to be shown.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=25")
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{number: number, port: out}
	cmd.Stdout = in
	if p.faults, err = cmd.StdinPipe(); err == nil {
		p.Child, err = child.Start(cmd)
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return p, nil
}

// awaitPort reads the port, or says how the process ended without one.
func (p *process) awaitPort() error {
	line, err := bufio.NewReader(p.port).ReadString('\n')
	line = strings.TrimSpace(line)
	if err == nil {
		_, err = strconv.ParseUint(line, 10, 16)
	}
	if err = errors.Join(err, p.port.Close()); err != nil {
		p.Kill()
		return fmt.Errorf("it did not say its port: %w; %s", err, p.LastWords())
	}
	p.url = &url.URL{Scheme: "http", Host: "127.0.0.1:" + line}
	return nil
}

// fall makes the fault begin, or end if it is NoFault.
func (p *process) fall(f, before Fault) error {
	var err error
	switch {
	case f == Hang:
		err = p.Suspend()
	case before == Hang:
		err = p.Resume()
	default:
		_, err = fmt.Fprintln(p.faults, f)
	}
	if err != nil {
		return fmt.Errorf("demo: %s: change its fault from %q to %q: %w", hotelID(p.number), before, f, err)
	}
	return nil
}

// reached asks the hotel how many calls were sent to it in that time.
func (p *process) reached(ctx context.Context, from, until time.Time) (int, error) {
	query := url.Values{"from": {stamp(from)}, "until": {stamp(until)}}
	target := p.url.JoinPath("reached")
	target.RawQuery = query.Encode()
	var count int
	if _, _, err := get(ctx, http.DefaultClient, target, &count); err != nil {
		return 0, fmt.Errorf("demo: ask %s how many calls reached it: %w", hotelID(p.number), err)
	}
	return count, nil
}

// stamp writes a time the way guests' calls carry it.
func stamp(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

// killHotels ends the processes at once.
func killHotels(all []*process) {
	for _, p := range all {
		p.Kill()
	}
}

// endHotels kills the processes and returns when they are gone.
func endHotels(all []*process) {
	killHotels(all)
	for _, p := range all {
		<-p.Ended()
	}
}
