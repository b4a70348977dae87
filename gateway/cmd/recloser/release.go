package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/recloser-go/recloser/gateway/internal/client"
)

func (p *program) releaseCommand() *cobra.Command {
	return p.actCommand(act{verb: "release", send: release}, &cobra.Command{
		Short: "Put back what isolate or hold set by hand: the rules decide again",
		Example: `  recloser release hotel-3 --reason "their database is back"
  recloser release 'hotel-*' --reason "the power is back" --dry-run
  recloser release --group coast --reason "the load test is over"`,
	})
}

func release(ctx context.Context, api *client.Client, d client.Dependency, a act) (client.Answer, error) {
	query := inQuery(a.reason)
	if a.hasVersion {
		query.Set("if_version", strconv.FormatUint(a.ifVersion, 10))
	}
	return api.Act(ctx, http.MethodDelete, "dependencies/"+escape(d.ID)+"/override", query, nil)
}

// remove takes away what is at a path of the API, by its id.
func (c *connection) remove(ctx context.Context, path, id, reason string) error {
	api, err := c.open()
	if err != nil {
		return err
	}
	_, err = api.Act(ctx, http.MethodDelete, path+"/"+escape(id), inQuery(reason), nil)
	return err
}

// inQuery is why and who, for an act that has no body.
func inQuery(reason string) url.Values {
	query := url.Values{}
	for name, value := range map[string]string{"reason": reason, "by": by()} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// escape makes an id one part of a path.
func escape(id string) string { return url.PathEscape(id) }
