package panel

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/recloser-go/recloser/gateway/internal/admin"
)

// audit is the page of who did what.
type audit struct {
	Acts       []admin.Act
	By, Target string
	Older      string // address of the next page; "": there is none
}

func (p *Panel) audit(ctx context.Context, v *view, r *http.Request) error {
	q := r.URL.Query()
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	a := audit{By: q.Get("by"), Target: q.Get("target")}
	list, err := v.read.Acts(ctx, admin.ActsQuery{By: a.By, Target: a.Target, Page: admin.Page{Before: max(0, before), Limit: 100}})
	if err != nil {
		return err
	}
	a.Acts = list.Acts
	if list.Next > 0 {
		a.Older = "/audit?" + url.Values{"by": {a.By}, "target": {a.Target}, "before": {strconv.FormatInt(list.Next, 10)}}.Encode()
	}
	v.Page, v.Title, v.Renew, v.Of = "audit", "Audit", 30, a
	return nil
}
