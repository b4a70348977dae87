package demo

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// patience is for what takes milliseconds on an idle machine.
const patience = time.Minute

// endlessDemo makes the test binary a demo whose hotels stay ill.
const endlessDemo = "endless-demo"

// TestMain lets the test binary stand in for the one that is shipped: it is
// started again for each hotel.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == HotelCommand:
		var number int
		if number, err = strconv.Atoi(os.Args[2]); err == nil {
			err = RunHotel(number, os.Stdin, os.Stdout)
		}
	case len(os.Args) == 2 && os.Args[1] == endlessDemo:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		_, err = Run(ctx, Options{
			Script: Script{FaultsFrom: time.Second / 5, FaultsUntil: time.Hour, Length: time.Hour},
			Paper:  Paper{Out: os.Stdout},
		})
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
