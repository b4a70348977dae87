// Package layers holds the tests of how this repository is laid out: which
// folder may import which, and what each module may require.
package layers
