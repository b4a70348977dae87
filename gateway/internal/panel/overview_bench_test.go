package panel

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// What the page of a viewer costs, who loads it anew after each change of state.
func BenchmarkOverview(b *testing.B) {
	for _, n := range []int{40, 500} {
		h := newHouse(b, false, hotels(b, n)...)
		h.busy()
		for name, path := range map[string]string{"whole": "/", "one row": "/?row=hotel-3"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					resp, err := h.server.Client().Get(h.server.URL + path)
					if err != nil {
						b.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						b.Fatal(resp.Status)
					}
				}
			})
		}
	}
}
