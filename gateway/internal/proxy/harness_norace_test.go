//go:build !race

package proxy_test

const manyKeys = 1_000_000
