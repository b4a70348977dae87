// Package cases holds the list of situations that breakers are known to get
// wrong, and the tests that each has one and that docs/CASES.md says which.
package cases
