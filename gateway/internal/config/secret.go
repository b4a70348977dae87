package config

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret prints as "***" wherever it is formatted, logged or encoded.
type Secret string

const masked = "***"

// Reveal returns the secret itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String returns "***".
func (s Secret) String() string { return masked }

// GoString returns "***".
func (s Secret) GoString() string { return masked }

// Format writes "***" for every verb, %x and %q too.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, masked) }

// MarshalText returns "***"; JSON and YAML use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

// LogValue returns "***".
func (s Secret) LogValue() slog.Value { return slog.StringValue(masked) }
