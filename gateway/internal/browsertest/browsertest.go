// Package browsertest has tests look at pages in a real browser: Debian's chromium.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/internal/eventually"
)

// Browser is one tab. Whatever goes wrong in it fails its test.
type Browser struct {
	t      *testing.T
	ctx    context.Context
	mu     sync.Mutex
	faults []string // of console and content policy
}

// Longest is how long one step in the browser may take, on a machine that is busy.
const Longest = 30 * time.Second

// New starts a browser. At the end of the test, whatever its console complained of is
// a failure.
func New(t *testing.T) *Browser {
	t.Helper()
	alloc, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // tests may run as root
		chromedp.WindowSize(1440, 900),
		chromedp.Flag("lang", "en-GB"),
	)...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &Browser{t: t, ctx: ctx}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("%v: is there a chromium? See TEST_NEEDS in the Makefile", err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleWarning || m.IsException() {
				b.fault(m)
			}
		}
	}()
	t.Cleanup(b.Clean)
	return b
}

func (b *Browser) fault(m chromedp.ConsoleMessage) {
	if strings.Contains(m.Text, "net::ERR") { // of a server that is gone
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf("%s: %s %s", m.Type, m.Text, m.URL))
}

// Faults takes out what the browser has complained of: what is wanted does not fail the
// test at its end.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// Clean fails the test if the browser has complained since the last time.
func (b *Browser) Clean() {
	b.t.Helper()
	for _, f := range b.Faults() {
		b.t.Error(f)
	}
}

// Do takes steps.
func (b *Browser) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	Run(b, chromedp.Steps(steps...))
}

// Run takes one step that has a result.
func Run[T any](b *Browser, step chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Longest)
	defer cancel()
	got, err := chromedp.Run(ctx, step)
	if err != nil {
		b.t.Fatalf("%v; console: %q", err, b.Faults())
	}
	return got
}

// Open goes to a page and waits until it is live.
func (b *Browser) Open(address string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(address))
	b.Until(`document.querySelector('[data-live="yes"]') !== null`)
}

// Frame waits for the frame of that address in the page to have run its script, and
// returns a browser that is inside.
func (b *Browser) Frame(address string) *Browser {
	b.t.Helper()
	var id target.ID
	eventually.True(b.t, Longest, func() bool {
		all, err := chromedp.Targets(b.ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(t *target.Info) bool { return t.Type == "iframe" && t.URL == address })
		if i >= 0 {
			id = all[i].TargetID
		}
		return i >= 0
	}, "a frame of "+address)
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithTargetID(id))
	b.t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.WaitReady(chromedp.CSS("body"))); err != nil { // the first step's context is that of all
		b.t.Fatal(err)
	}
	return &Browser{t: b.t, ctx: ctx}
}

// Theme has pages see that colour scheme, and no motion.
func (b *Browser) Theme(name string) {
	b.t.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

// Phone makes the window as narrow as a phone, 390 px.
func (b *Browser) Phone() { b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2))) }

// Desk makes it as wide as on a desk.
func (b *Browser) Desk() { b.Do(chromedp.EmulateViewport(1440, 900)) }

// Eval returns what an expression of JavaScript is.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	return Run(b, chromedp.Evaluate[T](expression))
}

// Until waits for an expression to be true.
func (b *Browser) Until(expression string) {
	b.t.Helper()
	eventually.True(b.t, Longest, func() bool { return Eval[bool](b, expression) }, expression)
}

// Shot keeps a picture of the page, if $SHOTS names a folder.
func (b *Browser) Shot(name string, whole bool) {
	b.t.Helper()
	folder := os.Getenv("SHOTS")
	if folder == "" {
		folder = b.t.TempDir()
	}
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), Run(b, take), 0o600); err != nil { //nolint:gosec // whoever runs the tests names the folder
		b.t.Fatal(err)
	}
}

// Accessible has axe, a file, look at the page in both themes, and on a phone.
func (b *Browser) Accessible(axe, what string) {
	b.t.Helper()
	script, err := os.ReadFile(axe)
	if err != nil {
		b.t.Fatal(err)
	}
	Eval[bool](b, string(script)+"; true")
	for _, look := range []struct {
		theme string
		at    func()
	}{{"light", b.Desk}, {"dark", b.Desk}, {"dark", b.Phone}} {
		look.at()
		b.Theme(look.theme)
		found := Run(b, chromedp.Evaluate[[]string](`axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
			.then((r) => r.violations.map((v) => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + (n.any[0]?.message ?? n.all[0]?.message ?? '')).join(' | ')))`, chromedp.EvalAwaitPromise))
		for _, v := range found {
			b.t.Errorf("%s, %s, %d px: %s", what, look.theme, Eval[int](b, "innerWidth"), v)
		}
	}
	b.Desk()
}

// Narrow fails the test if the page scrolls sideways on a phone. What is wide by its
// nature scrolls in an element of the class wide.
func (b *Browser) Narrow(what string) {
	b.t.Helper()
	b.Phone()
	if wide := Eval[int](b, "document.documentElement.scrollWidth"); wide > 390 {
		widest := Eval[[]string](b, `[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 390 && !e.closest('.wide')).slice(0, 5).map((e) => e.outerHTML.slice(0, 90))`)
		b.t.Errorf("%s scrolls sideways on a phone: %d px, by %q", what, wide, widest)
	}
}
