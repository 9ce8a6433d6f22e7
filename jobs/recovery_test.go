package jobs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line/linesim"
)

// sql runs a statement on the store's own writer, to stage what no method would do.
func (s *story) sql(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := s.Store.SessionDB().ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// breakJobs makes every new job fail until mend is called, while all else can be written.
func (s *story) breakJobs(t *testing.T) (mend func()) {
	t.Helper()
	s.sql(t, `CREATE TRIGGER no_jobs BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no jobs today'); END`)
	return func() { s.sql(t, `DROP TRIGGER no_jobs`) }
}

func (s *story) recover(t *testing.T) int {
	t.Helper()
	return dbtest.Must(s.Store.RecoverDeliveries(t.Context()))(t)
}

func TestAPublishWhoseJobCannotBeWrittenIsSavedAndQueuedFifteenMinutesLater(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	mend := s.breakJobs(t)
	id := s.publishOne(t)
	d := s.delivery(t, id)
	if want := s.Store.Now().Add(15 * time.Minute); d.State != roster.Pending || d.Code != roster.CodeEnqueueFailed || !d.NextAttemptAt.Equal(want) {
		t.Fatalf("the delivery is %s %s until %s, want pending QUEUE_ENQUEUE_FAILED until %s", d.State, d.Code, d.NextAttemptAt, want)
	}
	if p := dbtest.Must(s.Store.Publications(t.Context(), s.Group.ID, s.Month))(t); len(p) != 1 {
		t.Errorf("there are %d publications, want the one that was published", len(p))
	}
	s.Clock.Advance(15*time.Minute - time.Millisecond)
	if n := s.recover(t); n != 0 {
		t.Error("the sweep queued it before its time")
	}
	s.Clock.Advance(time.Millisecond)
	if n := s.recover(t); n != 0 {
		t.Error("the sweep counts what it could not queue")
	}
	if d := s.delivery(t, id); d.State != roster.Pending || !d.NextAttemptAt.Equal(s.Store.Now().Add(15*time.Minute)) {
		t.Errorf("while jobs cannot be written the delivery is %s until %s", d.State, d.NextAttemptAt)
	}
	mend()
	s.Clock.Advance(15 * time.Minute)
	if n := s.recover(t); n != 1 {
		t.Errorf("the sweep moved %d, want 1", n)
	}
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	if s.messages() != 1 {
		t.Errorf("the group got %d messages", s.messages())
	}
}

func TestARetryWhoseJobCannotBeWrittenWaitsAsPending(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	mend := s.breakJobs(t)
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.wantState(t, id, roster.Pending, roster.CodeEnqueueFailed)
	mend()
	s.Clock.Advance(15 * time.Minute)
	s.recover(t)
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
}

func TestADeliveryThatWaitsWithoutAJobIsCalledOffByAnAdmin(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	mend := s.breakJobs(t)
	id := s.publishOne(t)
	s.wantState(t, id, roster.Pending, roster.CodeEnqueueFailed)
	if err := s.Store.CancelDelivery(t.Context(), id, s.Admin.ID); err != nil {
		t.Fatal(err)
	}
	mend()
	s.wantState(t, id, roster.Canceled, roster.CodeCanceledByAdmin)
	s.Clock.Advance(15 * time.Minute)
	s.recover(t)
	s.step(t)
	if s.messages() != 0 {
		t.Errorf("the group got %d messages, want none", s.messages())
	}
}

func TestANoticeThatWaitsWithoutAJobEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.at(t, "16:50")
	mend := s.breakJobs(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.wantNotices(t, x.ID, "reminder pending QUEUE_ENQUEUE_FAILED")
	mend()
	s.at(t, "16:59")
	s.recover(t)
	s.wantNotices(t, x.ID, "reminder pending QUEUE_ENQUEUE_FAILED")
	s.at(t, "17:00")
	s.recover(t)
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_STARTED")
}

func TestARetryThatWaitsWithoutAJobEndsTenMinutesBeforeItsKeyDoes(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	id := s.publishOne(t)
	s.step(t)
	s.Clock.Advance(23 * time.Hour)
	s.breakJobs(t)
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(50*time.Minute - time.Millisecond)
	s.recover(t)
	s.wantState(t, id, roster.Pending, roster.CodeEnqueueFailed)
	s.Clock.Advance(time.Millisecond)
	s.recover(t)
	s.wantState(t, id, roster.Failed, roster.CodeRetryKeyExpired)
}

func TestAQueuedDeliveryWithoutAJobGetsOne(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	s.sql(t, `DELETE FROM jobs`)
	if n := s.recover(t); n != 1 {
		t.Errorf("the sweep moved %d, want 1", n)
	}
	if n := s.recover(t); n != 0 {
		t.Errorf("a second sweep moved %d", n)
	}
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
}

func TestTheRecoverySweepNeverTouchesFailedDeliveries(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.exhaust(t, false)
	s.Clock.Advance(72 * time.Hour)
	if n := s.recover(t); n != 0 {
		t.Errorf("the sweep moved %d", n)
	}
	s.wantState(t, id, roster.Failed, "HTTP_500")
}

func TestOnePoisonedRowDoesNotStopTheSweep(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	first, second := s.publishOne(t), s.publishOther(t)
	s.sql(t, `DELETE FROM jobs`)
	s.sql(t, `CREATE TRIGGER poison BEFORE INSERT ON jobs WHEN NEW.subject_id = `+itoa(first)+` BEGIN SELECT RAISE(ABORT, 'poison'); END`)
	n, err := s.Store.RecoverDeliveries(t.Context())
	if n != 1 || err == nil || !strings.Contains(err.Error(), "poison") {
		t.Errorf("the sweep moved %d and answered %v, want 1 and the poisoned row's error", n, err)
	}
	s.step(t)
	s.wantState(t, second, roster.Sent, "")
}

// crash claims the try that is due as a process that is then gone, and lets the next boot take it back.
func (s *story) crash(t *testing.T) {
	t.Helper()
	gone := dbtest.Must(db.Open(t.Context(), db.Options{Dir: s.Store.Dir(), Clock: s.Clock, Location: dbtest.Tokyo, Logger: quiet(), Compose: dbtest.PlainComposer{}}))(t)
	try, err := dbtest.ClaimTry(t.Context(), gone)
	if err != nil || try == nil {
		t.Fatalf("claimed %v, %v", try, err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	dbtest.Must(s.Store.RecoverOrphans(t.Context()))(t)
}

func TestInterruptionsSpendNoTryAndAreCountedInARow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	s.crash(t)
	if d := s.delivery(t, id); d.State != roster.Queued || d.Code != "" || d.NextAttemptAt.After(s.Store.Now()) {
		t.Errorf("after the first interruption the delivery is %s %s until %s, want queued at once", d.State, d.Code, d.NextAttemptAt)
	}
	s.crash(t)
	if d := s.delivery(t, id); d.State != roster.Queued || d.Code != roster.CodeInterrupted || !d.NextAttemptAt.Equal(s.Store.Now().Add(2*time.Minute)) {
		t.Errorf("after the second the delivery is %s %s until %s, want queued INTERRUPTED for 2 minutes", d.State, d.Code, d.NextAttemptAt)
	}
	s.Clock.Advance(2 * time.Minute)
	s.crash(t)
	d := s.delivery(t, id)
	if d.State != roster.Failed || d.Code != roster.CodeInterrupted || !d.Dead || d.LadderTries != 0 {
		t.Errorf("after the third the delivery is %s %s, dead letter %v, %d tries spent; want failed INTERRUPTED, a dead letter, none", d.State, d.Code, d.Dead, d.LadderTries)
	}
	if len(d.Attempts) != 3 || d.Attempts[0].Outcome != roster.Interrupted {
		t.Errorf("attempts are %+v, want three interrupted ones", d.Attempts)
	}
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	s.sim.Assert(t)
}

func TestAKnownAnswerEndsTheRowOfInterruptions(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	s.crash(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.step(t)
	s.Clock.Advance(2 * time.Minute)
	s.crash(t)
	if d := s.delivery(t, id); d.Code != "" || d.Interruptions != 1 || d.LadderTries != 1 {
		t.Errorf("the delivery counts %d interruptions in a row and %d tries, want 1 and 1", d.Interruptions, d.LadderTries)
	}
}

func TestARunOutLeaseInsideARunningProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	stuck := dbtest.Must(dbtest.ClaimTry(t.Context(), s.Store))(t)
	s.Clock.Advance(time.Minute)
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	// The stuck worker comes back with an answer: it is void.
	if err := s.Store.FinishTry(t.Context(), stuck, db.Result{Outcome: roster.Refused, Code: "HTTP_400", Status: 400}); err == nil {
		t.Error("two workers finished one delivery")
	}
	s.wantState(t, id, roster.Sent, "")
	s.sim.Assert(t)
}

func TestAWorkerFinishesItsOwnTryAndNoOther(t *testing.T) {
	t.Parallel()
	refused := db.Result{Outcome: roster.Refused, Code: "HTTP_400", Status: 400}
	s := newStory(t)
	id := s.publishOne(t)
	stuck := s.begin(t)
	s.Clock.Advance(time.Minute)
	second := s.begin(t) // of the same process, which took it over
	if err := s.Store.FinishTry(t.Context(), stuck, refused); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("the worker whose try was taken over finished with %v", err)
	}
	other := dbtest.Must(db.Open(t.Context(), db.Options{Dir: s.Store.Dir(), Clock: s.Clock, Location: dbtest.Tokyo, Logger: quiet()}))(t)
	defer other.Close()
	if err := other.FinishTry(t.Context(), second, refused); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("another process finished with %v", err)
	}
	d := s.delivery(t, id)
	if d.State != roster.Processing || len(d.Attempts) != 2 || d.Attempts[0].Outcome != "" || d.Attempts[1].Outcome != roster.Interrupted {
		t.Errorf("the delivery is %s with the attempts %+v, want the second one open", d.State, d.Attempts)
	}
	if n := s.count(t, `SELECT count(*) FROM jobs WHERE state = 'leased' AND owner = ?`, s.Store.BootID()); n != 1 {
		t.Errorf("%d jobs are leased to the process that works", n)
	}
	s.end(t, second, roster.Accepted)
	s.wantState(t, id, roster.Sent, "")
	if err := s.Store.FinishTry(t.Context(), second, refused); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("finishing twice answered %v", err)
	}
	s.wantState(t, id, roster.Sent, "")
	s.sim.Assert(t)
}

func TestPicturesThatNothingShowsGoAfterADay(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	store := dbtest.Must(files.Open(filepath.Join(t.TempDir(), "images")))(t)
	defer store.Close()
	put := func(content string) string {
		key := dbtest.Must(store.Put([]byte(content)))(t)
		if err := os.Chtimes(store.Path(key), s.Store.Now(), s.Store.Now()); err != nil {
			t.Fatal(err)
		}
		return key
	}
	orphan, shown, published := put("orphan"), put("shown"), put("published")
	page := func(key string) []roster.Image {
		return []roster.Image{{Page: 1, Title: "駅前教室", SHA256: key, Width: 2160, Height: 3000, SizeBytes: 1}}
	}
	s.Confirm(t, 0, 8, "17:00-21:30")
	sheet := dbtest.Must(s.Store.Preview(t.Context(), s.Group.ID, s.Month))(t).Sheet
	if err := s.Store.SavePreview(t.Context(), sheet.Hash(), page(published)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Store.Publish(t.Context(), db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: sheet.Hash(), AdminID: s.Admin.ID}); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.SavePreview(t.Context(), "of another sheet", page(shown)); err != nil {
		t.Fatal(err)
	}
	sweeps := jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: store, Clock: s.Clock, Logger: quiet()})
	there := func(want ...bool) {
		t.Helper()
		if _, err := sweeps.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, key := range []string{orphan, shown, published} {
			if _, err := store.Get(key); (err == nil) != want[i] {
				t.Errorf("%s is there: %v", []string{"a picture without a row", "a shown preview", "a published picture"}[i], err == nil)
			}
		}
	}
	s.Clock.Advance(23 * time.Hour)
	there(true, true, true)
	s.Clock.Advance(2 * time.Hour)
	there(false, false, true)
	runs := dbtest.Must(s.Store.SweepRuns(t.Context()))(t)
	if len(runs) != 1 || runs[0].Name != jobs.SweepRecovery || !runs[0].RanAt.Equal(s.Store.Now()) || runs[0].Error != "" {
		t.Errorf("the last runs are recorded as %+v", runs)
	}
}
