package dependency

import (
	"sync"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

func TestCache(t *testing.T) {
	l, err := Maker{}.NewList([]config.Dependency{settings("a", "")})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	c := &Cache[string]{List: l, Make: func(d *Dependency) string { made++; return d.ID }}
	a, _ := l.Get("a")
	b, err := l.Put(settings("b", ""))
	if err != nil {
		t.Fatal(err)
	}
	var together sync.WaitGroup
	for range 20 {
		together.Go(func() {
			for range 2 {
				if got := c.Of(a) + c.Of(b); got != "ab" {
					t.Errorf("got %q", got)
				}
			}
		})
	}
	together.Wait()
	if made != 2 {
		t.Errorf("made %d times, want once for each", made)
	}
	again, err := l.Put(settings("b", "coast")) // another definition is another dependency
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Of(again); got != "b" || made != 3 || len(c.now()) != 2 {
		t.Errorf("got %q, %d made, %d held; want b, 3, and 2 as one is no more", got, made, len(c.now()))
	}
}
