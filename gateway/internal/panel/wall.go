package panel

import (
	"context"
	"net/http"
)

// wall is the page for a screen on a wall.
type wall struct {
	Headline headline
	Cards    []row
	More     int
	Groups   []group
}

func (p *Panel) wall(ctx context.Context, v *view, _ *http.Request) error {
	rows := rowsOf(ctx, v)
	w := wall{Headline: newHeadline(rows), Groups: groupsOf(rows)}
	w.Cards, w.More = cardsOf(ctx, v, rows)
	v.Acts = false // nobody stands at it
	v.Page, v.Title, v.Of = "wall", w.Headline.Text, w
	return nil
}
