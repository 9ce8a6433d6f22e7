package jobs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// model is what a manager with paper and pencil knows of one group's month. It is written from the rules alone and
// judges by what LINE accepted, never by the product's tables.
type model struct {
	published []int        // versions, in the order they were acknowledged
	wanted    map[int]int  // how often a person asked for a version to be sent: by publishing, sending again, or a new key
	calledOff map[int]bool // versions a person called off before they were known to be sent
}

// modelRun is one random story.
type modelRun struct {
	*story
	t        *rapid.T
	tb       testing.TB
	client   *line.Client
	composer *jobs.Composer
	model    model
	day      int
}

// scope is a test whose resources go before it ends.
type scope struct {
	*testing.T
	undo []func()
}

// Cleanup notes what end does.
func (s *scope) Cleanup(f func()) { s.undo = append(s.undo, f) }

func (s *scope) end() {
	for _, f := range slices.Backward(s.undo) {
		f()
	}
}

func newModelRun(t *rapid.T, tb testing.TB) *modelRun {
	r := &modelRun{story: newStory(tb), t: t, tb: tb, model: model{wanted: map[int]int{}, calledOff: map[int]bool{}}}
	r.Month = r.Month.Add(5) // far from now, so that nobody is to be reminded of anything
	r.client = line.NewClient(line.Options{BaseURL: r.sim.BaseURL(), Token: r.sim.Channel().AccessToken, Timeout: timeout, Clock: r.Clock})
	var err error
	if r.composer, err = jobs.NewComposer("https://liff.line.me", "1234567890-AbcdEfgh", dbtest.Tokyo); err != nil {
		t.Fatal(err)
	}
	return r
}

var versionIn = regexp.MustCompile(`第([0-9]+)版`)

// acceptedVersions lists the versions that LINE accepted, in order.
func (r *modelRun) acceptedVersions() []int {
	var all []int
	for _, a := range r.sim.Accepted() {
		var push struct {
			Messages []struct{ AltText string }
		}
		if err := json.Unmarshal(a.Body, &push); err != nil {
			r.t.Fatal(err)
		}
		m := versionIn.FindStringSubmatch(push.Messages[0].AltText)
		if m == nil {
			r.t.Fatalf("LINE accepted a message without a version: %s", a.Body)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// newest returns the delivery that was made last.
func (r *modelRun) newest() (db.DeliveryDetail, bool) {
	rows, err := r.Store.Deliveries(r.tb.Context(), db.DeliveryFilter{Limit: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(rows) == 0 {
		return db.DeliveryDetail{}, false
	}
	d, err := r.Store.Delivery(r.tb.Context(), rows[0].ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return d, true
}

// publish adds a shift and publishes the month.
func (r *modelRun) publish(*rapid.T) {
	if r.day >= 28 {
		return
	}
	r.day++
	r.Confirm(r.tb, 0, r.day, "17:00-21:30")
	out := r.Publish(r.tb)
	r.model.published = append(r.model.published, out.Number)
	r.model.wanted[out.Number]++
}

// fault lets LINE fail the next requests in one of its ways.
func (r *modelRun) addFault(t *rapid.T) {
	f := rapid.SampledFrom([]linesim.Fault{
		{Kind: linesim.FaultStatus, Status: 500}, {Kind: linesim.FaultStatus, Status: 503, Accept: true},
		{Kind: linesim.FaultCut}, {Kind: linesim.FaultCut, Accept: true}, {Kind: linesim.FaultTruncate}, {Kind: linesim.FaultBroken},
		{Kind: linesim.FaultStatus, Status: 400}, {Kind: linesim.FaultStatus, Status: 409}, {Kind: linesim.FaultRate}, {Kind: linesim.FaultToken},
	}).Draw(t, "fault")
	f.Endpoint, f.Count = "push", rapid.IntRange(1, 8).Draw(t, "count")
	if _, err := r.sim.AddFault(f); err != nil {
		t.Fatal(err)
	}
}

// work lets the runner do all that is due.
func (r *modelRun) work(*rapid.T) { r.step(r.tb) }

// wait moves the clock on, or back by less than ten minutes.
func (r *modelRun) wait(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Minute, 10 * time.Minute, 40 * time.Minute, 5 * time.Hour, 25 * time.Hour, -time.Minute, -9 * time.Minute}).Draw(t, "wait")
	r.Clock.Advance(d)
}

// kill claims what is due as a process that is gone before it can write its answer down, after LINE accepted it or not.
func (r *modelRun) kill(t *rapid.T) {
	gone, err := db.Open(r.tb.Context(), db.Options{Dir: r.Store.Dir(), Clock: r.Clock, Location: dbtest.Tokyo, Logger: quiet(), Compose: r.composer})
	if err != nil {
		t.Fatal(err)
	}
	try, err := dbtest.ClaimTry(r.tb.Context(), gone)
	if err == nil && try != nil && rapid.Bool().Draw(t, "asked") {
		_, _ = r.client.Push(r.tb.Context(), try.Body, try.RetryKey) // nobody lives to read the answer
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Store.RecoverOrphans(r.tb.Context()); err != nil {
		t.Fatal(err)
	}
}

// sweep runs the recovery sweep and what ends holds.
func (r *modelRun) sweep(t *rapid.T) {
	if _, err := r.Store.RecoverDeliveries(r.tb.Context()); err != nil {
		t.Fatal(err)
	}
	for _, cause := range []roster.HoldCause{roster.HoldRateLimit, roster.HoldUnauthorized} {
		if err := r.Store.EndHold(r.tb.Context(), cause); err != nil {
			t.Fatal(err)
		}
	}
}

// retry is an admin who sends what failed again, and says yes when asked.
func (r *modelRun) retry(t *rapid.T) {
	d, ok := r.newest()
	if !ok || d.State != roster.Failed {
		return
	}
	err := r.Store.RetryDelivery(r.tb.Context(), d.ID, r.Admin.ID, false)
	if errors.Is(err, db.ErrMayHaveArrived) {
		if err = r.Store.RetryDelivery(r.tb.Context(), d.ID, r.Admin.ID, true); err == nil {
			r.model.wanted[d.Publication.Number]++
		}
	}
	if err != nil {
		t.Fatalf("retry of the newest delivery: %v", err)
	}
}

// callOff is an admin who stops what waits. What it had superseded comes back if neither was tried.
func (r *modelRun) callOff(t *rapid.T) {
	d, ok := r.newest()
	if !ok || (d.State != roster.Queued && d.State != roster.Pending) {
		return
	}
	if err := r.Store.CancelDelivery(r.tb.Context(), d.ID, r.Admin.ID); err != nil {
		t.Fatal(err)
	}
	r.model.calledOff[d.Publication.Number] = true
}

// again is an admin who sends the newest version again, and says yes when asked.
func (r *modelRun) again(t *rapid.T) {
	d, ok := r.newest()
	if !ok {
		return
	}
	_, err := r.Store.Resend(r.tb.Context(), db.ResendInput{PublicationID: d.PublicationID, AdminID: r.Admin.ID, LastDeliveryID: d.ID, Confirmed: true})
	var unwanted *db.NotWantedError
	switch {
	case err == nil:
		r.model.wanted[d.Publication.Number]++
		delete(r.model.calledOff, d.Publication.Number)
	case !errors.Is(err, db.ErrLive) && !errors.As(err, &unwanted):
		t.Fatal(err)
	}
}

// judge compares what LINE accepted with what may be.
func (r *modelRun) judge(t *rapid.T) {
	count := map[int]int{}
	newest := 0
	for _, v := range r.acceptedVersions() {
		count[v]++
		if v < newest && r.model.wanted[v] == 1 {
			t.Fatalf("version %d arrived after version %d", v, newest)
		}
		newest = max(newest, v)
		if count[v] > r.model.wanted[v] {
			t.Fatalf("version %d arrived %d times and was asked for %d times", v, count[v], r.model.wanted[v])
		}
	}
	byKey := map[string]string{}
	for _, p := range r.sim.Pushes() {
		if body, again := byKey[p.RetryKey]; again && body != string(p.Body) {
			t.Fatalf("two tries with key %s differ", p.RetryKey)
		}
		byKey[p.RetryKey] = string(p.Body)
	}
}

// settle lets everything come to its end, with LINE well again, and checks that nothing was lost.
func (r *modelRun) settle(t *rapid.T) {
	r.sim.ClearFaults()
	r.Clock.Advance(10 * time.Minute) // the clock may have gone back
	for range 30 {
		r.sweep(t)
		r.work(t)
		r.Clock.Advance(40 * time.Minute)
	}
	r.judge(t)
	if len(r.model.published) == 0 {
		return
	}
	last := r.model.published[len(r.model.published)-1]
	d, ok := r.newest()
	if !ok {
		t.Fatal("the deliveries are gone")
	}
	if d.State.Live() {
		t.Fatalf("delivery %d is %s for ever", d.ID, d.State)
	}
	arrived := false
	for _, v := range r.acceptedVersions() {
		arrived = arrived || v == last
	}
	if !arrived && d.State != roster.Failed && !r.model.calledOff[last] {
		t.Fatalf("version %d was acknowledged and neither arrived nor is it shown as failed or called off: %s", last, describe(d))
	}
	if d.State == roster.Failed && d.Code == "" {
		t.Fatal("a failed delivery has no reason")
	}
}

func describe(d db.DeliveryDetail) string {
	return fmt.Sprintf("delivery %d of version %d is %s %s after %d attempts", d.ID, d.Publication.Number, d.State, d.Code, len(d.Attempts))
}

func TestWhateverHappensEveryVersionArrivesOnceOrIsShownAsFailed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		tb := &scope{T: t}
		defer tb.end()
		r := newModelRun(rt, tb)
		rt.Repeat(map[string]func(*rapid.T){
			"publish": r.publish, "fault": r.addFault, "work": r.work, "wait": r.wait, "kill": r.kill, "sweep": r.sweep,
			"retry": r.retry, "callOff": r.callOff, "again": r.again, "": r.judge,
		})
		r.settle(rt)
	})
}
