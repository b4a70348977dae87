package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// notify tells systemd how the service is, by the datagrams of sd_notify(3). Where
// there is no systemd it does nothing. What cannot be sent is not missed: a
// service that is not heard of is restarted.
func notify(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return
	}
	socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	defer socket.Close()
	_, _ = socket.Write([]byte(state))
}

// notifyReloading says that a reload begins; READY=1 says that it is over. systemd
// wants the moment, so that it takes no earlier READY=1 for this one's.
func notifyReloading() {
	notify(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic().Microseconds()))
}

// watchdog says that the service lives, twice as often as systemd wants to hear
// it, until ctx is done. Each time look comes first: if it does not return, nothing
// is said any more, and systemd restarts the service.
func watchdog(ctx context.Context, look func()) {
	every := watchdogTime() / 2
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			look()
			notify("WATCHDOG=1")
		}
	}
}

// watchdogTime is how long systemd waits to be told; 0: it does not.
func watchdogTime() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	n, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || n < 2 {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}
