package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/recloser-go/recloser/gateway/internal/config"
	"github.com/recloser-go/recloser/gateway/internal/dependency"
)

// A scrape of 500 dependencies, as Prometheus asks for it.
func BenchmarkMetrics(b *testing.B) {
	var all []config.Dependency
	c, err := config.Parse("recloser.yaml", []byte(wholeConfig))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 500 {
		d := c.Dependencies[0]
		d.ID = fmt.Sprintf("hotel-%d", i)
		all = append(all, d)
	}
	list, err := dependency.Maker{}.NewList(all)
	if err != nil {
		b.Fatal(err)
	}
	handler := New(Options{Dependencies: list})
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8081/metrics", nil)
				r.RemoteAddr = "127.0.0.1:50000"
				r.Header.Set("Accept-Encoding", encoding)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
				size = w.Body.Len()
			}
			b.ReportMetric(float64(size), "bytes/scrape")
		})
	}
}
