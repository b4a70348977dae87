package alert

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recloser-go/recloser"
	"github.com/recloser-go/recloser/gateway/internal/config"
)

// Channels, routes and rules are those of the last reload, and an incident goes on.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &webhooks{}, none, teams("ops", "old.example"), teams("coast", "coast.example", "coast"))
		r.goes("h", recloser.Closed, recloser.Open)
		pass(10 * time.Second)
		r.Reload(config.Alerts{Calm: 10 * time.Minute, Reminder: time.Hour, Channels: []config.Channel{
			teams("ops", "new.example"), teams("coast", "coast.example", "hills"),
			{Kind: config.Alertmanager, Name: "am", URL: "http://am.example"},
		}})
		if all := r.Channels(); len(all) != 3 {
			t.Errorf("channels %v", all)
		}
		pass(time.Minute + time.Second)
		r.w.want(t, "am.example", "") // what lasts, by its own form
		r.goes("h", recloser.HalfOpen, recloser.Closed)
		pass(9 * time.Minute)
		r.w.want(t, "new.example")
		pass(time.Minute + 5*time.Second)
		r.w.want(t, "old.example", "Hotel is cut off")
		r.w.want(t, "new.example", "Hotel is back")
		r.w.want(t, "coast.example", "Hotel is cut off")
		r.end(t)
	})
}

// G16: a reload in the quiet time after a message makes no second one, and one that
// changes nothing does not hurry what has to wait.
func TestG16ReloadInTheQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := 0
		w := &webhooks{answer: func(*http.Request) (*http.Response, error) {
			if refused++; refused == 1 {
				return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"30"}}, Body: http.NoBody}, nil
			}
			return &http.Response{StatusCode: http.StatusAccepted, Body: http.NoBody}, nil
		}}
		r := start(t, w, none, teams("ops", "prod.example"))
		same := config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: []config.Channel{teams("ops", "prod.example")}}
		other := same // in what is not of the channel
		other.Reminder, other.Channels = 2*time.Hour, append(other.Channels, teams("coast", "coast.example", "other"))
		r.goes("h", recloser.Closed, recloser.Open)
		for i := range 20 {
			r.Reload([]config.Alerts{same, other}[i%2])
			pass(time.Second)
		}
		r.w.want(t, "prod.example", "Hotel is cut off")
		pass(20 * time.Second)
		for range 20 {
			r.Reload(same)
			pass(time.Second)
		}
		r.w.want(t, "prod.example", "Hotel is cut off", "Hotel is cut off") // refused, and then accepted
		r.end(t)
	})
}

// The first channel is told what runs: else it would get the end of something that it
// never heard of, and nothing of a trip that goes on with it.
func TestFirstChannelIsToldWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, &webhooks{}, none)
		r.goes("h", recloser.Closed, recloser.Open)
		pass(time.Minute)
		first := config.Alerts{Calm: time.Minute, Reminder: time.Hour, Channels: []config.Channel{teams("ops", "ops.example")}}
		r.Reload(first)
		pass(10 * time.Second)
		r.w.want(t, "ops.example", "Hotel is cut off")
		first.Channels = append(first.Channels, teams("more", "more.example"))
		r.Reload(first)
		pass(10 * time.Second)
		r.w.want(t, "more.example")
		r.goes("h", recloser.Open, recloser.Closed)
		pass(2 * time.Minute)
		r.w.want(t, "ops.example", "Hotel is cut off", "Hotel is back")
		r.end(t)
	})
}
