package proxy

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/recloser-go/recloser/gateway/internal/lastknown"
	"github.com/recloser-go/recloser/gateway/internal/problem"
)

// memory is what a request to a route with last known answers has with it.
type memory struct {
	store   *lastknown.Store
	request *http.Request // as it came
	key     lastknown.Key // only of one that asks for something
}

type memoryKey struct{}

// remember gives a request what its answer is kept by. Only one that asks for all
// of something can be answered with what was said before.
func remember(store *lastknown.Store, r *http.Request) *http.Request {
	m := &memory{store: store, request: r}
	switch {
	case r.Method == http.MethodOptions || r.Method == http.MethodTrace:
		return r // about the way, and nothing at its end
	case m.asks():
		if r.ContentLength != 0 || len(r.Header["Range"])+len(r.Header["Upgrade"]) > 0 {
			return r
		}
		m.key = store.Key(r.Method, r, nil)
	}
	return r.WithContext(context.WithValue(r.Context(), memoryKey{}, m))
}

// asks reports whether the request asks for something, and changes nothing.
func (m *memory) asks() bool {
	return m.request.Method == http.MethodGet || m.request.Method == http.MethodHead
}

func memoryOf(r *http.Request) *memory {
	m, _ := r.Context().Value(memoryKey{}).(*memory)
	return m
}

// errStale has fail answer in the place of a dependency that says it has failed.
var errStale = errors.New("there is a last known answer")

// follow keeps a response. Its error says that there is a better one.
func follow(resp *http.Response) error {
	m := memoryOf(resp.Request)
	switch {
	case m == nil:
		return nil
	case !m.asks():
		if resp.StatusCode < 400 { // it changed something
			m.store.Forget(m.store.Key(http.MethodGet, m.request, nil))
			m.store.Forget(m.store.Key(http.MethodHead, m.request, nil))
		}
		return nil
	}
	switch resp.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if _, _, ok := m.store.Get(m.key, m.request); ok {
			return errStale
		}
	}
	m.store.Follow(m.key, m.request, resp)
	return nil
}

// recall answers with the last known answer, if there is one. p is why there is no
// other.
func recall(w http.ResponseWriter, r *http.Request, p problem.Problem) bool {
	m := memoryOf(r)
	if m == nil || !m.asks() {
		return false
	}
	a, age, ok := m.store.Get(m.key, m.request)
	if !ok {
		return false
	}
	h := w.Header()
	maps.Copy(h, a.Header)
	was, _ := strconv.Atoi(a.Header.Get("Age"))
	seconds := int(age / time.Second)
	h.Set("Age", strconv.Itoa(max(0, was)+seconds))
	h.Set("Recloser-Last-Known", strconv.Itoa(seconds))
	problem.Headers(w, p)
	w.WriteHeader(a.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.Body)
	}
	return true
}
