// Package httpbreaker puts breakers into HTTP. For a client [Transport] is an
// http.RoundTripper that asks a breaker before each request and tells it how the
// request ended; [GuardedTransport] is the same with a guard. For a server
// [Middleware] does so with the requests that its own handlers serve, and
// [Refuse] answers those that cannot be served.
//
// A request has answered when its response headers are there, so a download or
// a stream is never slow. It has ended at the end of the response body: a body
// that breaks off is a failure. A transport error and every 5xx status are
// failures, except 501 and 505, which judge the request; all other statuses are
// good. A 503 or 429 whose Retry-After names a time opens the breaker for that
// time (see recloser.WaitError); a 429 is never a failure. Nor is a request that
// could not be sent for want of sockets on this machine: see ShortageError.
//
// Use a Transport for every HTTP API that you call. It is not for APIs that
// answer 200 whatever happens, unless Transport.Classify can tell from the
// headers; nor for one that sends its headers at once and hangs in the body: make
// the whole answer one call then, with [recloser.Breaker.Do].
//
// Use a Middleware for a handler that is as good as its one dependency, where the
// calls to that cannot be wrapped: a legacy library, a proxy, a child process.
// Where they can be, put the breaker there: it sees more than a status, and the
// handler may have something else to say. A handler that serves from many
// dependencies must not be cut off for one of them. Never give a Transport and the
// Middleware of the handler that uses it the same breaker: each call would count
// twice.
package httpbreaker
