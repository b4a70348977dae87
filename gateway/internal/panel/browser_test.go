package panel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/internal/eventually"
)

// browser is a real one: Debian's chromium.
type browser struct {
	t      *testing.T
	house  *house
	ctx    context.Context
	mu     sync.Mutex
	faults []string // of console and content policy
}

// longest is how long one step in the browser may take, on a machine that is busy.
const longest = 20 * time.Second

// newBrowser starts one. At the end of the test, whatever its console complained of
// is a failure.
func newBrowser(t *testing.T, h *house) *browser {
	t.Helper()
	alloc, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // tests may run as root
		chromedp.WindowSize(1440, 900),
		chromedp.Flag("lang", "en-GB"),
	)...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	b := &browser{t: t, house: h, ctx: ctx}
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
	t.Cleanup(b.clean)
	return b
}

func (b *browser) fault(m chromedp.ConsoleMessage) {
	if strings.Contains(m.Text, "net::ERR") { // of a gateway that is gone
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf("%s: %s %s", m.Type, m.Text, m.URL))
}

// clean fails the test if the browser complained.
func (b *browser) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Error(f)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	run(b, chromedp.Steps(steps...))
}

// run takes one step that has a result.
func run[T any](b *browser, step chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, longest)
	defer cancel()
	got, err := chromedp.Run(ctx, step)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.t.Fatalf("%v; console: %q", err, b.faults)
	}
	return got
}

// open goes to a page and waits until it is live.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.house.server.URL + path))
	b.until(`document.querySelector('[data-live="yes"]') !== null`)
}

func (b *browser) theme(name string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

func (b *browser) phone() { b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2))) }
func (b *browser) desk()  { b.do(chromedp.EmulateViewport(1440, 900)) }

// eval returns what an expression of JavaScript is.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

// until waits for an expression to be true.
func (b *browser) until(expression string) {
	b.t.Helper()
	eventually.True(b.t, longest, func() bool { return eval[bool](b, expression) }, expression)
}

// shot keeps a picture of the page, if $SHOTS names a folder.
func (b *browser) shot(name string, whole bool) {
	b.t.Helper()
	folder := os.Getenv("SHOTS")
	if folder == "" {
		folder = b.t.TempDir()
	}
	take := chromedp.CaptureScreenshot()
	if whole {
		take = chromedp.FullScreenshot(100)
	}
	picture := run(b, take)
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
