package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/recloser-go/recloser/gateway/internal/config"
)

const (
	sendFor    = 5 * time.Second // how long the collector may take for a batch
	complain   = time.Minute     // from one complaint about it in the log to the next
	mostAnswer = 64 << 10        // of what it answers
)

// collector is where spans go: the client of an otlptrace.Exporter. That of
// otlptracehttp would bring gRPC into the program.
type collector struct {
	to      string
	headers http.Header
	client  *http.Client
	log     *slog.Logger
	life    context.Context
	end     context.CancelFunc

	mu        sync.Mutex
	lost      int       // spans, since the last complaint
	complains time.Time // not before then again
}

func newCollector(c *config.Traces, log *slog.Logger) *collector {
	life, end := context.WithCancel(context.Background())
	return &collector{
		to: c.Endpoint.String(), headers: c.Header(), log: log, life: life, end: end,
		client: &http.Client{
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: sendFor},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the headers are for this one alone
		},
	}
}

// Start does nothing: whoever is not there yet may come.
func (c *collector) Start(context.Context) error { return nil }

// Stop closes connections.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends a batch. One that is not taken is lost, and the log says so; to
// the SDK all is well, which would complain on standard error.
func (c *collector) UploadTraces(ctx context.Context, batch []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if err := c.send(ctx, batch); err != nil {
		c.complain(batch, err)
	}
	return nil
}

func (c *collector) send(ctx context.Context, batch []*tracepb.ResourceSpans) error {
	// On the wire the same as an ExportTraceServiceRequest.
	message, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: batch})
	if err != nil {
		return err
	}
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	_, _ = zip.Write(message) // into memory
	_ = zip.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.to, &body)
	if err != nil {
		return err
	}
	req.Header = c.headers.Clone()
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "gzip")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostAnswer)) // the connection can be used again then
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("it answered %s", resp.Status)
	}
	return nil
}

func (c *collector) complain(batch []*tracepb.ResourceSpans, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range batch {
		for _, scope := range of.GetScopeSpans() {
			c.lost += len(scope.GetSpans())
		}
	}
	if time.Now().Before(c.complains) {
		return
	}
	c.log.Warn("the collector of traces did not take spans, which are lost: see traces.endpoint in the config", "spans", c.lost, "error", err)
	c.lost, c.complains = 0, time.Now().Add(complain)
}
