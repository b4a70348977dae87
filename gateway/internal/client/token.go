package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadToken returns the token to use: that of file if it is named, else that of
// the environment variable RECLOSER_TOKEN, else that of recloser/token in the
// user's folder of settings; "" if there is none. Its errors are of kind Usage.
func ReadToken(file string) (string, error) {
	if file != "" {
		return tokenOf(file)
	}
	if token := os.Getenv("RECLOSER_TOKEN"); token != "" {
		return checkToken(token, "RECLOSER_TOKEN")
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil // a service has no home, and then no token in it
	}
	file = filepath.Join(dir, "recloser", "token")
	token, err := tokenOf(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return token, err
}

func tokenOf(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", &Error{Kind: Usage, Detail: fmt.Sprintf("the token cannot be read: %v", err), Err: err}
	}
	return checkToken(string(content), file)
}

// checkToken refuses what cannot be a token, such as a whole config file, without
// showing it.
func checkToken(token, from string) (string, error) {
	token = strings.TrimSpace(token)
	if token == "" || len(token) > 1024 || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage("%s holds no token: it is one word in one line", from)
	}
	return token, nil
}
