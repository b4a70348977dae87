//go:build !race

package channel

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/recloser-go/recloser/gateway/internal/browsertest"
	"github.com/recloser-go/recloser/gateway/internal/message"
)

// canvas is a page of a browser that cards are drawn on, by the library that Microsoft
// publishes for it.
type canvas struct{ *browsertest.Browser }

func newCanvas(t *testing.T) canvas {
	t.Helper()
	c := canvas{browsertest.New(t)}
	for _, file := range []string{"vendor/adaptivecards.min.js", "vendor/markdown-it.min.js", "draw.js"} {
		script, err := os.ReadFile(filepath.Join("testdata", file))
		must(t, err)
		eval[bool](c, string(script)+"\n;true")
	}
	return c
}

func eval[T any](c canvas, expression string) T { return browsertest.Eval[T](c.Browser, expression) }

// draw shows a message of Teams, and returns what the library says against it.
func (c canvas) draw(theme string, width int, body []byte) []string {
	c.Do(chromedp.EmulateViewport(int64(width+32), 500))
	return eval[[]string](c, fmt.Sprintf("draw(%q, %d, %s)", theme, width, body))
}

// Microsoft's own library reads and draws every card, and has nothing to say against
// any. Pictures of them, for people to look at: make shots.
func TestCardsAreDrawn(t *testing.T) {
	c := newCanvas(t)
	for name, m := range goldenMessages() {
		raw, err := Card(m)
		must(t, err)
		for _, theme := range []string{"light", "dark"} {
			for view, width := range map[string]int{"": 580, "-phone": 358} {
				if faults := c.draw(theme, width, raw); len(faults) > 0 {
					t.Errorf("%s: %q", name, faults)
				}
				if view == "" || theme == "light" {
					c.Shot("card-"+name+view+"-"+theme, true)
				}
				if wide := eval[int](c, "Math.max(...[...document.querySelectorAll('.box *')].map((e) => e.getBoundingClientRect().right))"); wide > width+16 {
					t.Errorf("%s%s: something stands out of the card, to %d px", name, view, wide)
				}
			}
		}
		for _, i := range m.Items[:min(len(m.Items), mostRows)] {
			if shown := eval[string](c, "document.body.textContent"); !strings.Contains(shown, strings.ReplaceAll(message.Tidy(i.Name), "{{", "{ {")) {
				t.Errorf("%s does not show %q: %s", name, i.Name, shown)
			}
		}
	}
}

// What others write is drawn as they wrote it: no link, no markup, no macro.
func TestForeignTextIsDrawnAsItIs(t *testing.T) {
	c := newCanvas(t)
	for _, m := range uglyMessages() {
		raw, err := Card(m)
		must(t, err)
		if faults := c.draw("light", 580, raw); len(faults) > 0 {
			t.Errorf("%s: %q", m.Kind, faults)
		}
		if markup := eval[[]string](c, "[...document.querySelectorAll('.box :is(a, b, em, strong, script, img)')].map((e) => e.outerHTML)"); len(markup) > 0 {
			t.Errorf("%s: markup %q", m.Kind, markup)
		}
		shown := eval[string](c, "document.querySelector('.box').textContent")
		want := strings.ReplaceAll(ugly, "{{", "{ {")
		if m.Kind != message.Test && !strings.Contains(shown, want) {
			t.Errorf("%s does not show %q: %s", m.Kind, want, shown)
		}
	}
}

// The library does object to what is wrong: else the tests above would prove nothing.
func TestRendererObjects(t *testing.T) {
	c := newCanvas(t)
	for name, content := range map[string]string{
		"an unknown element": `{"type":"AdaptiveCard","version":"1.5","body":[{"type":"Nonsense"}]}`,
		"a wrong value":      `{"type":"AdaptiveCard","version":"1.5","body":[{"type":"TextBlock","text":"x","size":"gigantic"}]}`,
		"a link that acts":   `{"type":"AdaptiveCard","version":"1.5","body":[],"actions":[{"type":"Action.OpenUrl","title":"x"}]}`,
	} {
		body := fmt.Sprintf(`{"type":"message","attachments":[{"content":%s}]}`, content)
		if faults := c.draw("light", 580, []byte(body)); len(faults) == 0 {
			t.Errorf("nothing is said against %s", name)
		}
	}
}

// What others wrote is as they published it, and named with version and licence.
func TestVendoredFiles(t *testing.T) {
	const folder = "testdata/vendor"
	table, err := os.ReadFile(folder + "/README.md")
	must(t, err)
	files, err := os.ReadDir(folder)
	must(t, err)
	for _, f := range slices.DeleteFunc(files, func(f os.DirEntry) bool { return f.Name() == "README.md" }) {
		body, err := os.ReadFile(filepath.Join(folder, f.Name()))
		must(t, err)
		line := fmt.Sprintf("(?m)^\\| `%s` \\| .+ \\| .+ \\| `%x` \\|$", regexp.QuoteMeta(f.Name()), sha256.Sum256(body))
		if !regexp.MustCompile(line).Match(table) {
			t.Errorf("%s/README.md has no line for %s with its sha256 %x", folder, f.Name(), sha256.Sum256(body))
		}
	}
}
