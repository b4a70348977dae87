// Package prooftest holds tests of the other modules that need more than the
// standard library's testing. It is a module of its own, never tagged, so that
// nobody who imports Recloser meets what it requires.
package prooftest
