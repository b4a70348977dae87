package town

import (
	"net/http"
	"testing"
	"time"
)

func openHotel(t *testing.T, s Script) *Hotel {
	t.Helper()
	h, err := Open("hotel-1", Usual)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	h.Fault(time.Now(), time.Now().Add(time.Hour), s)
	return h
}

func TestHotelDoesWhatItsScriptSays(t *testing.T) {
	for _, test := range []struct {
		name        string
		script      Script
		call, probe int // status; 0: none within the time
	}{
		{"well", Well(), 200, 200},
		{"errors", Errors(), 500, 500},
		{"liar", Liar(), 500, 200},
		{"broken", Broken(), 0, 200},
		{"black hole", BlackHole(), 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := openHotel(t, test.script)
			client := &http.Client{Timeout: 2 * time.Second}
			if test.call == 0 { // what never comes need not be waited for that long
				client.Timeout = 200 * time.Millisecond
			}
			call := Visit(client, "http://"+h.Address()+GuestPath)
			if call.OK != (test.call == 200) || call.Ours {
				t.Errorf("call: %+v, want status %d of the hotel", call, test.call)
			}
			probe := Visit(client, "http://"+h.Address()+ProbePath)
			if probe.OK != (test.probe == 200) || probe.Ours {
				t.Errorf("probe: %+v, want status %d of the hotel", probe, test.probe)
			}
			if got := h.Reached(); got != 1 {
				t.Errorf("%d calls reached it, want 1 without the probe", got)
			}
		})
	}
}

func TestHotelIsWellOutsideTheFault(t *testing.T) {
	h := openHotel(t, Errors())
	for name, from := range map[string]time.Time{"before": time.Now().Add(time.Hour), "after": time.Now().Add(-2 * time.Hour)} {
		h.Fault(from, from.Add(time.Hour), Errors())
		if c := Visit(http.DefaultClient, "http://"+h.Address()+GuestPath); !c.OK {
			t.Errorf("%s the fault: %+v", name, c)
		}
	}
	if got := h.Reached(); got != 0 {
		t.Errorf("%d calls counted outside of the fault", got)
	}
}

func TestAskEachHearsEverybody(t *testing.T) {
	well, hole := openHotel(t, Well()), openHotel(t, BlackHole())
	hole.ID = "hotel-2"
	ask := func(at string) Call {
		urls := map[string]string{}
		for _, h := range []*Hotel{well, hole} {
			urls[h.ID] = "http://" + h.Address() + AskPath + "?at=" + at
		}
		return AskEach(http.DefaultClient, urls, 200*time.Millisecond)
	}
	if c := ask("hotel-1"); !c.OK {
		t.Errorf("a yes: %+v", c)
	}
	if c := ask("nowhere"); c.OK || len(c.Names) != 1 || c.Names[0] != "hotel-2" {
		t.Errorf("nobody said yes and hotel-2 hangs: %+v", c)
	}
}
