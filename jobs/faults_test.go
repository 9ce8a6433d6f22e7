package jobs_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/queue"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/jobs/line"
)

// fault is a way in which our own disk or database fails.
type fault struct {
	name string
	code sqlite3.ErrNo // of the errors it causes
	// begin breaks the store until the returned function mends it.
	begin func(*testing.T, *story) (mend func())
}

// writes are the statements by which deliveries are made and moved.
var writes = []string{
	"INSERT ON publications", "INSERT ON publication_pages", "INSERT ON shifts", "UPDATE ON shifts", "INSERT ON deliveries", "UPDATE ON deliveries", "INSERT ON delivery_events",
	"INSERT ON attempts", "UPDATE ON attempts", "INSERT ON told", "UPDATE ON told", "INSERT ON jobs", "UPDATE ON jobs", "INSERT ON sweeps", "UPDATE ON sweeps",
}

// fillDisk lets all writes find no room. Small rows would fit into pages that are there; with a trigger each statement
// needs new ones.
func fillDisk(t *testing.T, s *story) (mend func()) {
	t.Helper()
	var pages int
	if err := s.Store.SessionDB().QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	s.sql(t, `CREATE TABLE filler (content BLOB)`)
	for _, on := range writes {
		s.sql(t, `CREATE TRIGGER "full at `+on+`" AFTER `+on+` BEGIN INSERT INTO filler VALUES (zeroblob(1000000)); END`)
	}
	s.sql(t, `PRAGMA max_page_count = `+itoa(int64(pages+20)))
	return func() {
		s.sql(t, `PRAGMA max_page_count = 1000000`)
		for _, on := range writes {
			s.sql(t, `DROP TRIGGER "full at `+on+`"`)
		}
		s.sql(t, `DROP TABLE filler`)
	}
}

// faults are the ways in which nothing can be written.
var faults = []fault{
	{"full disk", sqlite3.ErrFull, fillDisk},
	{"read-only database", sqlite3.ErrReadonly, func(t *testing.T, s *story) func() {
		s.sql(t, `PRAGMA query_only = 1`)
		return func() { s.sql(t, `PRAGMA query_only = 0`) }
	}},
}

// wantCode checks that an error is the one that a fault causes.
func (f fault) wantCode(t *testing.T, what string, err error) {
	t.Helper()
	var e sqlite3.Error
	if !errors.As(err, &e) || e.Code != f.code {
		t.Errorf("%s answered %v, want an error of the %s", what, err, f.name)
	}
}

// content is everything the database holds, but for what a fault needs.
func (s *story) content(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	tables := []string{"publications", "shifts", "deliveries", "delivery_events", "attempts", "jobs", "told", "channel_holds", "sweeps"}
	for _, table := range tables {
		rows, err := s.Store.SessionDB().QueryContext(t.Context(), `SELECT * FROM `+table+` ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		columns := dbtest.Must(rows.Columns())(t)
		for rows.Next() {
			values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			b.WriteString(table)
			for i, v := range values {
				b.WriteString(" " + columns[i] + "=" + v.String)
			}
			b.WriteString("\n")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// underFault runs something that writes while the store is broken: it must fail by the fault and change nothing.
func (s *story) underFault(t *testing.T, f fault, what string, write func() error) {
	t.Helper()
	before := s.content(t)
	mend := f.begin(t, s)
	err := write()
	mend()
	f.wantCode(t, what, err)
	if after := s.content(t); after != before {
		t.Errorf("%s failed and changed\n%s\nto\n%s", what, before, after)
	}
}

func TestWhatCannotBeWrittenDidNotHappenAndWorksLater(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			t.Run("publishing", func(t *testing.T) {
				t.Parallel()
				s := newStory(t)
				s.Confirm(t, 0, 8, "17:00-21:30")
				in := db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: s.Render(t), AdminID: s.Admin.ID}
				s.underFault(t, f, "publishing", func() error {
					_, err := s.Store.Publish(ctx, in)
					return err
				})
				id := dbtest.Must(s.Store.Publish(ctx, in))(t).DeliveryID
				s.step(t)
				s.wantState(t, id, roster.Sent, "")
				s.sim.Assert(t)
			})
			t.Run("editing a shift that was told", func(t *testing.T) {
				t.Parallel()
				s := newStory(t)
				x := s.Confirm(t, 0, 8, "16:00-21:30") // within the window: the teacher is reminded at once
				s.step(t)
				s.underFault(t, f, "editing", func() error {
					_, err := s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "17:00-21:30"))
					return err
				})
				dbtest.Must(s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "17:00-21:30")))(t)
				s.Clock.Advance(time.Minute)
				s.step(t)
				messages := s.sim.Messages(dbtest.LINEUserID(1))
				if len(messages) != 2 || !strings.Contains(messages[1].Text(), "17:00–21:30") {
					t.Errorf("the teacher got %d messages, want a reminder and a correction", len(messages))
				}
				s.sim.Assert(t)
			})
			t.Run("claiming", func(t *testing.T) {
				t.Parallel()
				for _, publish := range []bool{true, false} {
					s := newStory(t)
					if publish {
						s.publishOne(t)
					} else {
						s.Confirm(t, 0, 8, "16:00-21:30")
					}
					s.underFault(t, f, "claiming", func() error { return s.runner.RunOnce(ctx) })
					if n := len(s.sim.Pushes()); n != 0 {
						t.Errorf("LINE got %d requests of tries that were not written down", n)
					}
					s.step(t)
					s.wantState(t, 1, roster.Sent, "")
					s.sim.Assert(t)
				}
			})
			t.Run("sweeping", func(t *testing.T) {
				t.Parallel()
				s := newStory(t)
				id := s.publishOne(t)
				s.sql(t, `DELETE FROM jobs`)
				pictures := dbtest.Must(files.Open(filepath.Join(t.TempDir(), "images")))(t)
				defer pictures.Close()
				sweeps := jobs.NewSweeps(jobs.SweepOptions{Store: s.Store, Files: pictures, Clock: s.Clock, Logger: quiet()})
				s.underFault(t, f, "sweeping", func() error {
					_, err := sweeps.Recover(ctx)
					return err
				})
				if n := dbtest.Must(sweeps.Recover(ctx))(t); n != 1 {
					t.Errorf("the next sweep moved %d deliveries, want 1", n)
				}
				s.step(t)
				s.wantState(t, id, roster.Sent, "")
				s.sim.Assert(t)
			})
		})
	}
}

// endedAt lets a statement end its whole transaction, as SQLite does by itself where the disk is full or fails
// (https://www.sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction, checked December 2026): what
// the code then still runs would be a transaction of its own.
func (s *story) endedAt(t *testing.T, write string) (mend func()) {
	t.Helper()
	s.sql(t, `CREATE TRIGGER ended BEFORE `+write+` BEGIN SELECT RAISE(ROLLBACK, 'the disk is gone'); END`)
	return func() { s.sql(t, `DROP TRIGGER ended`) }
}

func TestAStatementThatFailsUndoesTheWholePublishWithAnError(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"INSERT ON publications", "INSERT ON publication_pages", "INSERT ON deliveries", "UPDATE ON deliveries", "INSERT ON delivery_events"} {
		s := newStory(t)
		s.publishOne(t) // still waits, and would be superseded
		s.Confirm(t, 1, 9, "17:00-21:30")
		in := db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: s.Render(t), AdminID: s.Admin.ID}
		before := s.content(t)
		s.sql(t, `CREATE TRIGGER fails BEFORE `+on+` BEGIN SELECT RAISE(ABORT, 'not today'); END`)
		_, err := s.Store.Publish(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), "not today") {
			t.Errorf("%s fails: publishing answered %v", on, err)
		}
		if after := s.content(t); after != before {
			t.Errorf("%s fails: publishing changed\n%s\nto\n%s", on, before, after)
		}
	}
}

func TestATransactionThatTheDiskEndsHalfWayChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, c := range []struct {
		name  string
		begin func(*testing.T, *story) (write func() error)
	}{
		{"publishing", func(t *testing.T, s *story) func() error {
			s.publishOne(t)
			s.Confirm(t, 1, 9, "17:00-21:30")
			in := db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: s.Render(t), AdminID: s.Admin.ID}
			return func() error { _, err := s.Store.Publish(ctx, in); return err }
		}},
		{"entering a shift", func(t *testing.T, s *story) func() error {
			return func() error {
				_, err := s.Store.AddShift(ctx, s.Edit(t, 0, 8, "16:00-21:30"), roster.ShiftConfirmed)
				return err
			}
		}},
		{"editing a told shift", func(t *testing.T, s *story) func() error {
			x := s.Confirm(t, 0, 8, "16:00-21:30")
			s.step(t)
			return func() error {
				_, err := s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "17:00-21:30"))
				return err
			}
		}},
		{"claiming an announcement", func(t *testing.T, s *story) func() error {
			s.publishOne(t)
			return func() error { _, err := dbtest.ClaimTry(ctx, s.Store); return err }
		}},
		{"claiming a notice", func(t *testing.T, s *story) func() error {
			s.Confirm(t, 0, 8, "16:00-21:30")
			return func() error { _, err := dbtest.ClaimTry(ctx, s.Store); return err }
		}},
		{"claiming what is no longer wanted", func(t *testing.T, s *story) func() error {
			s.Confirm(t, 0, 8, "16:00-21:30")
			s.Clock.Advance(2 * time.Hour)
			return func() error { _, err := dbtest.ClaimTry(ctx, s.Store); return err }
		}},
		{"finishing", func(t *testing.T, s *story) func() error {
			s.Confirm(t, 0, 8, "16:00-21:30")
			try := dbtest.Must(dbtest.ClaimTry(ctx, s.Store))(t)
			return func() error { return s.Store.FinishTry(ctx, try, db.Result{Outcome: roster.Accepted, Status: 200}) }
		}},
		{"taking back what a killed process was sending", func(t *testing.T, s *story) func() error {
			s.Confirm(t, 0, 8, "16:00-21:30")
			dbtest.Must(dbtest.ClaimTry(ctx, s.Store))(t)
			next := dbtest.Must(db.Open(ctx, db.Options{Dir: s.Store.Dir(), Clock: s.Clock, Location: dbtest.Tokyo, Logger: quiet(), Compose: dbtest.PlainComposer{}}))(t)
			s.Store = next // the store of the killed process is closed by the test's end
			t.Cleanup(func() { next.Close() })
			return func() error { _, err := next.RecoverOrphans(ctx); return err }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ended := 0
			for _, on := range writes {
				s := newStory(t)
				write := c.begin(t, s)
				before := s.content(t)
				mend := s.endedAt(t, on)
				err := write()
				mend()
				if err == nil {
					continue // it does without that statement
				}
				ended++
				if after := s.content(t); after != before {
					t.Errorf("ended at %s, it changed\n%s\nto\n%s", on, before, after)
				}
			}
			if ended < 2 {
				t.Errorf("it was ended at %d statements, want several", ended)
			}
		})
	}
}

// afterPush is a client that does something between LINE's answer and what the runner makes of it.
type afterPush struct {
	*line.Client
	do func()
}

// Push does it after the answer.
func (p afterPush) Push(ctx context.Context, body []byte, retryKey string) (line.Answer, error) {
	answer, err := p.Client.Push(ctx, body, retryKey)
	p.do()
	return answer, err
}

// watchedRunner is a runner at work, on a clock that the test moves.
type watchedRunner struct {
	s     *story
	stop  context.CancelFunc
	ended chan error
}

// runStory runs a runner that does something after each answer of LINE, until the test ends.
func (s *story) runStory(t *testing.T, after func()) *watchedRunner {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &watchedRunner{s, stop, make(chan error, 1)}
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: s.Store, LINE: afterPush{newClient(s.School, s.sim), after}, Clock: s.Clock, Logger: quiet()})
	go func() { w.ended <- runner.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for {
			select {
			case err := <-w.ended:
				if err != nil {
					t.Error(err)
				}
				return
			default:
				s.Clock.Advance(time.Second)
			}
		}
	})
	return w
}

// pass moves the clock second by second, and lets the runner do at each what is due: then its loop, the renewal of its
// leases, its watch over holds and its unwritten result all wait again.
func (w *watchedRunner) pass(t *testing.T, d time.Duration) {
	t.Helper()
	const timers = 4
	for ; d > 0; d -= time.Second {
		if err := w.s.Clock.BlockUntilContext(t.Context(), timers); err != nil {
			t.Fatal(err)
		}
		w.s.Clock.Advance(time.Second)
	}
	if err := w.s.Clock.BlockUntilContext(t.Context(), timers); err != nil {
		t.Fatal(err)
	}
}

func TestAKnownAnswerIsWrittenDownWithoutASecondRequestHoweverLongItTakes(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		for _, outage := range []time.Duration{3 * time.Second, 5 * time.Minute} {
			t.Run(f.name+" for "+outage.String(), func(t *testing.T) {
				t.Parallel()
				s := newStory(t)
				id := s.publishOne(t)
				var mend func()
				broken := make(chan struct{})
				w := s.runStory(t, sync.OnceFunc(func() {
					mend = f.begin(t, s)
					close(broken)
				}))
				<-broken
				w.pass(t, outage)
				s.wantState(t, id, roster.Processing, "")
				mend()
				waitFor(t, func() bool {
					s.Clock.Advance(100 * time.Millisecond)
					return s.delivery(t, id).State != roster.Processing
				})
				d := s.delivery(t, id)
				if d.State != roster.Sent || len(d.Attempts) != 1 || d.Attempts[0].Outcome != roster.Accepted {
					t.Errorf("the delivery is %s %s with %d tries, the last one %s; want sent with one", d.State, d.Code, len(d.Attempts), d.Attempts[0].Outcome)
				}
				if n := len(s.sim.Pushes()); n != 1 {
					t.Errorf("LINE got %d requests, want 1", n)
				}
				s.sim.Assert(t)
			})
		}
	}
}

// lockByAnother takes the database's write lock on a connection of its own, as another program does.
func (s *story) lockByAnother(t *testing.T) (release func()) {
	t.Helper()
	other := dbtest.Must(sql.Open("sqlite3", "file:"+filepath.Join(s.Store.Dir(), db.FileName)+"?_busy_timeout=10000&_txlock=immediate"))(t)
	begun, err := other.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(begun.Rollback(), other.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestAnAnswerWaitsForAnotherProgramsWriteLock(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	id := s.publishOne(t)
	released := make(chan struct{})
	runner := jobs.NewRunner(jobs.RunnerOptions{Store: s.Store, Clock: s.Clock, Logger: quiet(), LINE: afterPush{newClient(s.School, s.sim), func() {
		release := s.lockByAnother(t)
		time.AfterFunc(3*time.Second, func() {
			release()
			close(released)
		})
	}}})
	if err := runner.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-released
	d := s.delivery(t, id)
	if d.State != roster.Sent || len(d.Attempts) != 1 {
		t.Errorf("the delivery is %s %s with %d tries, want sent with one", d.State, d.Code, len(d.Attempts))
	}
	if n := len(s.sim.Pushes()); n != 1 {
		t.Errorf("LINE got %d requests, want 1", n)
	}
	s.sim.Assert(t)
}

func TestAPublishUnderAnotherProgramsWriteLockIsRefusedAfterAWhileAndWorksLater(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 8, "17:00-21:30")
	in := db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: s.Render(t), AdminID: s.Admin.ID}
	release := s.lockByAnother(t)
	_, err := s.Store.Publish(t.Context(), in)
	var e sqlite3.Error
	if !errors.As(err, &e) || e.Code != sqlite3.ErrBusy {
		t.Errorf("publishing answered %v, want that the database is locked", err)
	}
	if _, err := dbtest.ClaimTry(t.Context(), s.Store); errors.Is(err, queue.ErrNone) || err == nil {
		t.Errorf("claiming answered %v, want that the database is locked", err)
	}
	release()
	id := dbtest.Must(s.Store.Publish(t.Context(), in))(t).DeliveryID
	s.step(t)
	s.wantState(t, id, roster.Sent, "")
	if s.messages() != 1 {
		t.Errorf("the group got %d messages, want 1", s.messages())
	}
	s.sim.Assert(t)
}

func TestARunnerThatIsStoppedBeforeItBeganEndsWell(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.runner.Run(ctx); err != nil {
		t.Errorf("the runner ended with %v", err)
	}
}
