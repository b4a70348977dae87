// Package dependency holds the other sides of calls while the gateway runs:
// each has its settings, its breaker and its connections.
package dependency

import (
	"net/http"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Dependency is one other side. Its fields are not changed after New.
type Dependency struct {
	config.Dependency
	Breaker   *recloser.Breaker
	Transport http.RoundTripper // sends a request as it is: no breaker, no timeout of its own
}
