//go:build !race

package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/browsertest"
)

// An outage is seen on the panel and on the page, both of which open without a token.
func TestOutageInBrowser(t *testing.T) {
	b := browsertest.New(t)
	type addresses struct{ panel, page string }
	opened, ended := make(chan addresses, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	var out lockedBuffer
	go func() {
		_, err := Run(ctx, Options{
			// Long enough for a browser on a busy machine to see it.
			Script: Script{FaultsFrom: 2 * time.Second, FaultsUntil: 17 * time.Second, Length: 25 * time.Second},
			Paper:  Paper{Out: &out}, Again: true,
			Opened: func(panel, page string) { opened <- addresses{panel, page} },
		})
		ended <- err
	}()
	var at addresses
	select {
	case at = <-opened:
	case err := <-ended:
		t.Fatal(err)
	}
	b.Open(at.panel)
	b.Until(`document.querySelector('.card.open') !== null`)
	b.Shot("demo-run-panel", false)
	b.Open(at.page)
	const waiting = `(way) => Number(document.querySelector('#' + way + ' [data-waiting]').textContent)`
	b.Until(`((of) => of('without') >= 30 && of('with') < of('without') / 3)(` + waiting + `)`)
	b.Until(`document.querySelector('.paper.open') !== null`)
	b.Shot("demo-run-during", true)
	b.Until(`document.title === 'All hotels are well again. – Recloser demo'`)
	b.Until(`document.querySelector('.paper.closed') !== null`)
	b.Until(`document.querySelector('#past-name') !== null`)
	b.Shot("demo-run-again", true)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	b.Until(`document.querySelector('[data-live] b').textContent === 'Ended'`)
	if !strings.Contains(out.String(), "Outage 1, the last that was played to its end") {
		t.Errorf("the output does not end with a report:\n%s", out.String())
	}
	b.Clean()
}
