//go:build race

package proxy_test

const manyKeys = 20_000 // the race detector makes each of them 20 times as slow
