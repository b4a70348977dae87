package lastknown

import (
	"bytes"
	"io"
	"net/http"
)

// Follow keeps the response to the request r, if it may be and once its body has
// been read to its end.
func (s *Store) Follow(k Key, r *http.Request, resp *http.Response) {
	switch judge(r, resp.StatusCode, resp.Header) {
	case leave:
		return
	case forget:
		s.Forget(k)
		return
	case keep:
	}
	header := resp.Header.Clone()
	header.Del("Set-Cookie") // it was for once
	a := Answer{Status: resp.StatusCode, Header: header}
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
		s.Put(k, r, a)
	case resp.ContentLength > LargestBody || len(resp.Trailer) > 0:
		s.Forget(k)
	default:
		resp.Body = &body{ReadCloser: resp.Body, store: s, key: k, request: r, answer: a}
	}
}

// body keeps what is read through it.
type body struct {
	io.ReadCloser
	store   *Store // nil: not to be kept after all
	key     Key
	request *http.Request
	answer  Answer
	read    bytes.Buffer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.store == nil {
		return n, err
	}
	b.read.Write(p[:n])
	switch {
	case b.read.Len() > LargestBody:
		b.store.Forget(b.key)
		b.store, b.read = nil, bytes.Buffer{}
	case err == io.EOF:
		b.answer.Body = bytes.Clone(b.read.Bytes())
		b.store.Put(b.key, b.request, b.answer)
		b.store = nil
	}
	return n, err
}
