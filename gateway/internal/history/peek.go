package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// DependenciesIn returns the dependencies that were added at run time, by the file alone:
// a gateway may be working on it, and nothing is written. Without a file there are none.
func DependenciesIn(ctx context.Context, path string) (all []Definition, err error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, nil
	}
	b, err := openReadOnly(ctx, &Options{Path: path})
	if err != nil {
		return nil, fmt.Errorf("history: %s: %w", path, err)
	}
	defer b.close()
	rows, err := b.rowsOf(ctx, kindDependency)
	for _, r := range rows {
		var d Definition
		if e := json.Unmarshal(r.value, &d); e != nil {
			err = errors.Join(err, fmt.Errorf("history: %s: dependency %s: %w", path, r.id, e))
			continue
		}
		all = append(all, d)
	}
	return all, err
}
