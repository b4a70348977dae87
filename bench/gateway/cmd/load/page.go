package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/bench/gateway/town"
)

// page is a tab of a real browser.
type page struct {
	ctx   context.Context
	close context.CancelFunc
}

// step is how long one thing in the browser may take, on a machine that is busy.
const step = 30 * time.Second

func openPage(ctx context.Context) (*page, error) {
	alloc, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // the report may be made as root
		chromedp.WindowSize(1440, 900),
	)...)
	tab, cancel := chromedp.NewContext(alloc)
	p := &page{ctx: tab, close: func() { cancel(); stop() }}
	// Without a time limit: the browser would end with it.
	err := chromedp.Do(tab, chromedp.Navigate("about:blank"), chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
		return err
	}))
	if err != nil {
		p.close()
		return nil, fmt.Errorf("start a browser: %w; is there a chromium?", err)
	}
	return p, nil
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) error {
	_, err := run(p, chromedp.Steps(steps...))
	return err
}

func run[T any](p *page, action chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, step)
	defer cancel()
	return chromedp.Run(ctx, action)
}

// open goes to a page of the panel and returns once it is live.
func (p *page) open(url string) error {
	if err := p.do(chromedp.Navigate(url)); err != nil {
		return err
	}
	for begun := time.Now(); time.Since(begun) < step; {
		live, err := run(p, chromedp.Evaluate[bool](`document.querySelector('[data-live="yes"]') !== null`))
		if live || err != nil {
			return err
		}
		if !town.Wait(p.ctx, 100*time.Millisecond) {
			return p.ctx.Err()
		}
	}
	return errors.New("the page does not get live")
}

// leave closes the page's stream.
func (p *page) leave() {
	if err := p.do(chromedp.Navigate("about:blank")); err != nil && p.ctx.Err() == nil {
		say("the page stays open: %v", err)
	}
}

// spent is the processor time of the page's main thread since it was opened.
type spent struct {
	script, layout, all time.Duration
	rows                int
}

func (p *page) look() (s spent, err error) {
	s.rows, err = run(p, chromedp.Evaluate[int](`document.querySelectorAll('tr[data-id]').length`))
	if err != nil {
		return s, err
	}
	metrics, err := run(p, func(ctx context.Context, _ *chromedp.Target) (performance.GetMetricsResult, error) {
		return chromedp.Call(ctx, performance.GetMetrics, struct{}{})
	})
	if err != nil {
		return s, err
	}
	values := make(map[string]time.Duration)
	for _, m := range metrics.Metrics {
		values[m.Name] = time.Duration(m.Value * float64(time.Second))
	}
	s.script = values["ScriptDuration"]
	s.layout = values["LayoutDuration"] + values["RecalcStyleDuration"]
	s.all = values["TaskDuration"]
	if s.all == 0 {
		return s, errors.New("the browser does not say how long its tasks take")
	}
	return s, nil
}
