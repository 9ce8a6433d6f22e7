package jobs_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

// timeout is the client's: short, because faults that hang are waited for, and long enough for a busy machine.
const timeout = 2 * time.Second

// story is a school, a LINE of its own and a runner between them, on one clock.
type story struct {
	*dbtest.School
	sim    *linesim.Simulator
	runner *jobs.Runner
}

func newStory(t testing.TB, options ...func(*db.Options)) *story {
	t.Helper()
	composer, err := jobs.NewComposer("https://liff.line.me", "1234567890-AbcdEfgh", dbtest.Tokyo)
	if err != nil {
		t.Fatal(err)
	}
	school := dbtest.NewSchool(t, append([]func(*db.Options){func(o *db.Options) { o.Compose = composer }}, options...)...)
	sim := linesim.Start(t, linesim.Options{Clock: school.Clock, Logger: quiet()})
	var members []string
	for n := range 14 {
		members = append(members, sim.AddUser(linesim.User{ID: dbtest.LINEUserID(n + 1), Name: "講師", Friend: true}).ID)
	}
	sim.AddGroup(linesim.Group{ID: dbtest.LINEGroupID(1), Name: "みほん塾 講師連絡", Members: members, BotIn: true})
	return &story{school, sim, newRunner(school, sim)}
}

func newRunner(school *dbtest.School, sim *linesim.Simulator) *jobs.Runner {
	return jobs.NewRunner(jobs.RunnerOptions{Store: school.Store, LINE: newClient(school, sim), Clock: school.Clock, Logger: quiet()})
}

func newClient(school *dbtest.School, sim *linesim.Simulator) *line.Client {
	return line.NewClient(line.Options{BaseURL: sim.BaseURL(), Token: sim.Channel().AccessToken, Timeout: timeout, Clock: school.Clock,
		HTTPClient: &http.Client{Transport: &http.Transport{}}})
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (s *story) fault(t testing.TB, f linesim.Fault) {
	t.Helper()
	f.Endpoint = "push"
	if _, err := s.sim.AddFault(f); err != nil {
		t.Fatal(err)
	}
}

// step works every job that is due now and returns how many tries and checks that took.
func (s *story) step(t testing.TB) int {
	t.Helper()
	for n := 0; ; n++ {
		switch err := s.runner.RunOnce(t.Context()); {
		case errors.Is(err, queue.ErrNone):
			return n
		case err != nil:
			t.Fatal(err)
		}
	}
}

func (s *story) delivery(t testing.TB, id int64) db.DeliveryDetail {
	t.Helper()
	return dbtest.Must(s.Store.Delivery(t.Context(), id))(t)
}

func (s *story) publishOne(t *testing.T) int64 {
	t.Helper()
	s.Confirm(t, 0, 8, "17:00-21:30")
	return s.Publish(t).DeliveryID
}

func TestEachAnswerOfLINEMovesTheDeliveryAsTheRulesSay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		faults   []linesim.Fault // of the first tries; then LINE is well
		state    roster.DeliveryState
		code     roster.Code
		outcome  roster.Outcome
		messages int
		dead     bool
	}{
		{"200", nil, roster.Sent, "", roster.Accepted, 1, false},
		{"200 with a broken body", []linesim.Fault{{Kind: linesim.FaultBroken, Count: 1}}, roster.Sent, "", roster.Accepted, 1, false},
		{"200 cut within the body", []linesim.Fault{{Kind: linesim.FaultTruncate, Count: 1}}, roster.Sent, "", roster.Accepted, 1, false},
		{"409 without an accepted id", []linesim.Fault{{Kind: linesim.FaultStatus, Status: 409, Count: 1}}, roster.Failed, "HTTP_409", roster.Refused, 0, false},
		{"500", []linesim.Fault{{Kind: linesim.FaultStatus, Status: 500, Count: 1}}, roster.Queued, "HTTP_500", roster.Unknown, 0, false},
		{"503 although accepted", []linesim.Fault{{Kind: linesim.FaultStatus, Status: 503, Accept: true, Count: 1}}, roster.Queued, "HTTP_503", roster.Unknown, 1, false},
		{"no answer", []linesim.Fault{{Kind: linesim.FaultHang, Count: 1}}, roster.Queued, roster.CodeTimeout, roster.Unknown, 0, false},
		{"no answer although accepted", []linesim.Fault{{Kind: linesim.FaultHang, Accept: true, Count: 1}}, roster.Queued, roster.CodeTimeout, roster.Unknown, 1, false},
		{"connection lost", []linesim.Fault{{Kind: linesim.FaultCut, Count: 1}}, roster.Queued, roster.CodeNetwork, roster.Unknown, 0, false},
		{"connection lost although accepted", []linesim.Fault{{Kind: linesim.FaultCut, Accept: true, Count: 1}}, roster.Queued, roster.CodeNetwork, roster.Unknown, 1, false},
		{"400", []linesim.Fault{{Kind: linesim.FaultStatus, Status: 400, Message: "Failed to send messages", Count: 1}}, roster.Failed, "HTTP_400", roster.Refused, 0, false},
		{"302", []linesim.Fault{{Kind: linesim.FaultStatus, Status: 302, Count: 1}}, roster.Failed, "HTTP_302", roster.Refused, 0, false},
		{"413", []linesim.Fault{{Kind: linesim.FaultStatus, Status: 413, Count: 1}}, roster.Failed, "HTTP_413", roster.Refused, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			for _, f := range c.faults {
				s.fault(t, f)
			}
			id := s.publishOne(t)
			if n := s.step(t); n != 1 {
				t.Errorf("the runner made %d steps, want 1", n)
			}
			d := s.delivery(t, id)
			if d.State != c.state || d.Code != c.code || d.Dead != c.dead {
				t.Errorf("the delivery is %s %q dead=%v, want %s %q dead=%v", d.State, d.Code, d.Dead, c.state, c.code, c.dead)
			}
			if len(d.Attempts) != 1 || d.Attempts[0].Outcome != c.outcome {
				t.Errorf("attempts %+v, want one that is %s", d.Attempts, c.outcome)
			}
			if got := len(s.sim.Messages(dbtest.LINEGroupID(1))); got != c.messages {
				t.Errorf("the group got %d messages, want %d", got, c.messages)
			}
			s.sim.Assert(t)
		})
	}
}

func TestAnAcceptedMessageWhoseAnswerWasLostIsNotPostedTwice(t *testing.T) {
	t.Parallel()
	for _, kind := range []linesim.FaultKind{linesim.FaultHang, linesim.FaultCut, linesim.FaultStatus} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.fault(t, linesim.Fault{Kind: kind, Accept: true, Count: 1})
			id := s.publishOne(t)
			s.step(t)
			s.Clock.Advance(2 * time.Minute)
			s.step(t)
			d := s.delivery(t, id)
			if d.State != roster.Sent || len(d.Attempts) != 2 {
				t.Fatalf("the delivery is %s after %d tries, want sent after 2", d.State, len(d.Attempts))
			}
			last := d.Attempts[0]
			if last.Status != http.StatusConflict || last.Outcome != roster.Accepted || last.AcceptedRequestID == "" {
				t.Errorf("the second try ended %d %s with accepted id %q, want 409 accepted and LINE's id", last.Status, last.Outcome, last.AcceptedRequestID)
			}
			if got := len(s.sim.Messages(dbtest.LINEGroupID(1))); got != 1 {
				t.Errorf("the group got %d messages, want 1", got)
			}
			s.sim.Assert(t)
		})
	}
}

func TestTriesFollowAfter2_4_8_16And32MinutesAndThenADeadLetterRemains(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500})
	id := s.publishOne(t)
	s.step(t)
	for i, wait := range []time.Duration{2, 4, 8, 16, 32} {
		d := s.delivery(t, id)
		if want := s.Store.Now().Add(wait * time.Minute); d.State != roster.Queued || !d.NextAttemptAt.Equal(want) {
			t.Fatalf("after try %d the delivery is %s until %s, want queued until %s", i+1, d.State, d.NextAttemptAt, want)
		}
		s.Clock.Advance(wait*time.Minute - time.Millisecond)
		if n := s.step(t); n != 0 {
			t.Fatalf("try %d came early", i+2)
		}
		s.Clock.Advance(time.Millisecond)
		s.step(t)
	}
	d := s.delivery(t, id)
	if d.State != roster.Failed || d.Code != "HTTP_500" || !d.Dead || len(d.Attempts) != 6 {
		t.Errorf("after six tries the delivery is %s %s, dead letter %v, %d attempts", d.State, d.Code, d.Dead, len(d.Attempts))
	}
	s.Clock.Advance(48 * time.Hour)
	if n := s.step(t); n != 0 {
		t.Error("a dead letter ran again by itself")
	}
	s.sim.Assert(t)
}

func TestLINEsWordsAreKeptWithARefusal(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Message: "Failed to send messages", Count: 1})
	id := s.publishOne(t)
	s.step(t)
	if d := s.delivery(t, id); d.Code != "HTTP_400" || d.Attempts[0].Message != "Failed to send messages" || d.Attempts[0].Status != 400 {
		t.Errorf("the delivery is %s; of its try this is kept: %+v", d.Code, d.Attempts[0])
	}
}

// panicking is a client that panics instead of asking LINE.
type panicking struct{ *line.Client }

// Push panics.
func (panicking) Push(context.Context, []byte, string) (line.Answer, error) { panic("no push") }

func TestAPanicWhileSendingSpendsATryWhoseOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: s.Store, LINE: panicking{newClient(s.School, s.sim)}, Clock: s.Clock, Logger: quiet()})
	for i, wait := range []time.Duration{2, 4, 8, 16, 32, 0} {
		if err := runner.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		d := s.delivery(t, id)
		if d.Code != roster.CodeInternal || d.LadderTries != i+1 || d.Attempts[0].Outcome != roster.Unknown {
			t.Fatalf("after panic %d the delivery is %s %s, %d tries spent, attempt %s; want INTERNAL, %d, unknown", i+1, d.State, d.Code, d.LadderTries, d.Attempts[0].Outcome, i+1)
		}
		if wait == 0 {
			break
		}
		if want := s.Store.Now().Add(wait * time.Minute); d.State != roster.Queued || !d.NextAttemptAt.Equal(want) {
			t.Fatalf("after panic %d the delivery is %s until %s, want queued until %s", i+1, d.State, d.NextAttemptAt, want)
		}
		s.Clock.Advance(wait * time.Minute)
	}
	if d := s.delivery(t, id); d.State != roster.Failed || !d.Dead {
		t.Errorf("at its ladder's end the delivery is %s, a dead letter: %v", d.State, d.Dead)
	}
}

// stubborn is a composer that has no words, or panics, until it is told to write.
type stubborn struct {
	roster.Composer
	fails func() error
}

// ComposePublication fails, or writes.
func (c *stubborn) ComposePublication(m roster.PublicationMessage) ([]byte, error) {
	if c.fails != nil {
		if err := c.fails(); err != nil {
			return nil, err
		}
	}
	return c.Composer.ComposePublication(m)
}

func TestAMessageThatCannotBeBuiltSpendsATryAndIsTriedAgainAsAfter5xx(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func() error{"an error": func() error { return errors.New("no words") }, "a panic": func() error { panic("no words") }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			composer := &stubborn{dbtest.PlainComposer{}, fails}
			s := newStory(t, func(o *db.Options) { o.Compose = composer })
			id := s.publishOne(t)
			for i, wait := range []time.Duration{2, 4, 8} {
				s.step(t)
				d := s.delivery(t, id)
				if want := s.Store.Now().Add(wait * time.Minute); d.State != roster.Queued || d.Code != roster.CodeInternal || d.LadderTries != i+1 || !d.NextAttemptAt.Equal(want) {
					t.Fatalf("the delivery is %s %s until %s, %d tries spent; want queued INTERNAL until %s, %d", d.State, d.Code, d.NextAttemptAt, d.LadderTries, want, i+1)
				}
				s.Clock.Advance(wait * time.Minute)
			}
			composer.fails = nil
			s.step(t)
			s.wantState(t, id, roster.Sent, "")
			if s.messages() != 1 {
				t.Errorf("the group got %d messages, want 1", s.messages())
			}
		})
	}
}

func TestNoTransactionIsOpenWhileLINEIsAsked(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: s.Store, Clock: s.Clock, Logger: quiet(), LINE: afterPush{newClient(s.School, s.sim), func() {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := s.Store.SessionDB().ExecContext(ctx, `UPDATE groups SET name = name`); err != nil {
			t.Errorf("before the answer was written down nobody else could write: %v", err)
		}
	}}})
	if err := runner.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, id, roster.Sent, "")
}

func TestASupersededMonthNeverArrivesAfterTheNewOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	first := s.publishOne(t)
	s.step(t)
	s.Confirm(t, 1, 8, "17:00-21:30")
	second := s.Publish(t).DeliveryID
	s.Clock.Advance(time.Hour)
	s.step(t)
	if d := s.delivery(t, first); d.State != roster.Canceled || d.Code != roster.CodeSuperseded || !d.MayHaveArrived {
		t.Errorf("the old version is %s %s, may have arrived: %v", d.State, d.Code, d.MayHaveArrived)
	}
	if d := s.delivery(t, second); d.State != roster.Sent {
		t.Errorf("the new version is %s", d.State)
	}
	if got := len(s.sim.Messages(dbtest.LINEGroupID(1))); got != 1 {
		t.Errorf("the group got %d messages, want the new one only", got)
	}
	s.sim.Assert(t)
}

func TestAnUpdateSaysSoAndCountsItsChangesFromWhatTheGroupWasSent(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.publishOne(t)
	s.step(t)
	s.Confirm(t, 1, 9, "22:00-25:00")
	s.Publish(t)
	s.step(t)
	messages := s.sim.Messages(dbtest.LINEGroupID(1))
	if len(messages) != 2 {
		t.Fatalf("the group got %d messages, want 2", len(messages))
	}
	for i, want := range [][]string{{"2027年1月 シフト表", "駅前・本町グループ", "第1版"}, {"第2版（更新）", "1件（追加1）"}} {
		for _, w := range want {
			if !contains(string(messages[i].Object), w) {
				t.Errorf("message %d does not say %q: %s", i+1, w, messages[i].Object)
			}
		}
		if contains(string(messages[i].Object), "佐藤") {
			t.Errorf("message %d names a teacher", i+1)
		}
	}
	if uris := messages[1].URIs(); len(uris) != 1 {
		t.Errorf("the message has the addresses %v, want the one button", uris)
	}
	s.sim.Assert(t)
}

func TestAGroupThatTheAccountLeftGetsNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	if err := s.Store.UntieGroup(t.Context(), s.Group.ID); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	if d := s.delivery(t, id); d.State != roster.Canceled || d.Code != roster.CodeGroupLeft {
		t.Errorf("the delivery is %s %s, want canceled GROUP_LEFT", d.State, d.Code)
	}
	if n := len(s.sim.Pushes()); n != 0 {
		t.Errorf("LINE got %d requests", n)
	}
}

func TestWhatAKilledProcessWasSendingIsSentByTheNextOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	// A process that claims the try and is gone.
	if _, err := dbtest.ClaimTry(t.Context(), s.Store); err != nil {
		t.Fatal(err)
	}
	next := dbtest.Must(db.Open(t.Context(), db.Options{Dir: s.Store.Dir(), Clock: s.Clock, Location: dbtest.Tokyo, Logger: quiet()}))(t)
	defer next.Close()
	if n := dbtest.Must(next.RecoverOrphans(t.Context()))(t); n != 1 {
		t.Errorf("%d orphans were taken back, want 1", n)
	}
	d := s.delivery(t, id)
	if d.State != roster.Queued || d.LadderTries != 0 || d.Attempts[0].Outcome != roster.Interrupted {
		t.Errorf("the delivery is %s, %d tries spent, attempt %s; want queued, none, interrupted", d.State, d.LadderTries, d.Attempts[0].Outcome)
	}
	s.step(t)
	if d := s.delivery(t, id); d.State != roster.Sent {
		t.Errorf("the delivery is %s, want sent", d.State)
	}
	s.sim.Assert(t)
}

func TestRunSendsAtOnceWhenItIsWokenAndEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.runner.Run(ctx) }()
	id := s.publishOne(t)
	s.runner.Wake()
	waitFor(t, func() bool { return s.delivery(t, id).State == roster.Sent })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.sim.Assert(t)
}

func TestAShutdownCutsOffARequestWithoutSpendingATry(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	client := line.NewClient(line.Options{BaseURL: s.sim.BaseURL(), Token: s.sim.Channel().AccessToken, Timeout: time.Hour, Clock: s.Clock})
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: s.Store, LINE: client, Clock: s.Clock, Logger: quiet()})
	s.fault(t, linesim.Fault{Kind: linesim.FaultHang, Count: 1})
	id := s.publishOne(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	waitFor(t, func() bool { return len(s.sim.Pushes()) == 1 })
	stop()
	for waiting := true; waiting; {
		select {
		case err := <-ended:
			waiting = false
			if err != nil {
				t.Error(err)
			}
		default:
			s.Clock.Advance(100 * time.Millisecond)
			runtime.Gosched()
		}
	}
	d := s.delivery(t, id)
	if d.State != roster.Queued || d.LadderTries != 0 || d.Attempts[0].Outcome != roster.Unknown {
		t.Errorf("the delivery is %s, %d tries spent, attempt %s; want queued, none, unknown", d.State, d.LadderTries, d.Attempts[0].Outcome)
	}
	s.step(t)
	if d := s.delivery(t, id); d.State != roster.Sent {
		t.Errorf("after the next start the delivery is %s", d.State)
	}
}
