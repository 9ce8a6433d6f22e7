package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"shiftpost/jobs"
)

// controlHandler answers the demo's control listener, for scripts that tell a story in which time passes:
//
//	GET  /demo/clock             {"now":"2027-01-08T14:32:00+09:00"}
//	POST /demo/clock             {"advance":"15m"} (may be negative) or {"set":"<RFC 3339>"}; answers as GET
//	POST /demo/sweeps/reminders  runs the sweep; answers {"handled":3}
//	POST /demo/sweeps/recovery   the same
//
// It moves the clock that the site, the runner, the sweeps and the simulated LINE share. It has a listener of its own
// on loopback, and serve never opens it.
func (d *demonstration) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /demo/clock", d.showClock)
	mux.HandleFunc("POST /demo/clock", d.moveClock)
	mux.HandleFunc("POST /demo/sweeps/{sweep}", d.runSweep)
	return mux
}

func (d *demonstration) showClock(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]string{"now": d.clock.Now().In(d.app.store.Location()).Format(time.RFC3339)})
}

func (d *demonstration) moveClock(w http.ResponseWriter, r *http.Request) {
	var in struct{ Advance, Set string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&in); err != nil {
		http.Error(w, "the body is no JSON object", http.StatusBadRequest)
		return
	}
	var err error
	switch {
	case (in.Advance == "") == (in.Set == ""):
		err = fmt.Errorf("give either advance or set")
	case in.Advance != "":
		var by time.Duration
		if by, err = time.ParseDuration(in.Advance); err == nil {
			err = d.clock.Advance(by)
		}
	default:
		var to time.Time
		if to, err = time.Parse(time.RFC3339, in.Set); err == nil {
			err = d.clock.Set(to)
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.showClock(w, r)
}

func (d *demonstration) runSweep(w http.ResponseWriter, r *http.Request) {
	sweep := map[string]func(context.Context) (int, error){jobs.SweepReminders: d.app.sweeps.Remind, jobs.SweepRecovery: d.app.sweeps.Recover}[r.PathValue("sweep")]
	if sweep == nil {
		http.Error(w, "there is no such sweep", http.StatusNotFound)
		return
	}
	handled, err := sweep(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, map[string]int{"handled": handled})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client went away: nobody is left to tell
}
