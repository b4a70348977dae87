package main

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// monotonic is the time of CLOCK_MONOTONIC, which systemd compares with.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// clockSynchronised reports whether something such as NTP keeps the wall clock
// right, and false for known if that cannot be read.
func clockSynchronised() (yes, known bool) {
	var state unix.Timex // without modes it only reads
	code, err := unix.Adjtimex(&state)
	return code != unix.TIME_ERROR, err == nil
}

// freeSpace is how many bytes an ordinary user may still write to where path is.
func freeSpace(path string) (bytes uint64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return 0, false
	}
	return fs.Bavail * uint64(fs.Bsize), true
}

// strangerTo reports whether this process is of root and a file of somebody else,
// and of whom. A file that is not there yet will belong to whom its folder does.
func strangerTo(path string) (owner uint32, yes bool) {
	var file unix.Stat_t
	if err := unix.Stat(path, &file); err != nil {
		if err := unix.Stat(filepath.Dir(path), &file); err != nil {
			return 0, false
		}
	}
	return file.Uid, os.Geteuid() == 0 && file.Uid != 0
}

// openFiles is how many files and sockets this process may have open.
func openFiles() (limit uint64, known bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return r.Max, true // the Go runtime raises the soft limit to it
}
