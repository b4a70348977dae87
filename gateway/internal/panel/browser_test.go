//go:build !race

package panel

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/gateway/internal/browsertest"
)

// browser is one that looks at a house.
type browser struct {
	*browsertest.Browser
	house *house
}

func newBrowser(t *testing.T, h *house) *browser {
	t.Helper()
	return &browser{browsertest.New(t), h}
}

// open goes to a page of the house and waits until it is live.
func (b *browser) open(path string) { b.Open(b.house.server.URL + path) }

func (b *browser) accessible(what string) { b.Accessible("testdata/vendor/axe.min.js", what) }

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) { b.Do(steps...) }
func (b *browser) until(expression string)                    { b.Until(expression) }
func (b *browser) theme(name string)                          { b.Theme(name) }
func (b *browser) phone()                                     { b.Phone() }
func (b *browser) desk()                                      { b.Desk() }
func (b *browser) shot(name string, whole bool)               { b.Shot(name, whole) }

func run[T any](b *browser, step chromedp.Action[T]) T { return browsertest.Run(b.Browser, step) }

func eval[T any](b *browser, expression string) T { return browsertest.Eval[T](b.Browser, expression) }
