package db_test

import (
	"context"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestWhatIsAcknowledgedIsOnTheDisk(t *testing.T) {
	t.Parallel()
	s, _ := dbtest.Open(t)
	var synchronous int
	var journal string
	if err := s.SessionDB().QueryRowContext(t.Context(), `SELECT synchronous, journal_mode FROM pragma_synchronous, pragma_journal_mode`).Scan(&synchronous, &journal); err != nil {
		t.Fatal(err)
	}
	const full = 2
	if synchronous != full || journal != "wal" {
		t.Errorf("the writer's synchronous is %d and its journal %s, want %d and wal", synchronous, journal, full)
	}
}

// goneComposer writes a message for somebody who goes away meanwhile.
type goneComposer struct {
	dbtest.PlainComposer
	goes func()
}

// ComposePublication writes it.
func (c *goneComposer) ComposePublication(m roster.PublicationMessage) ([]byte, error) {
	c.goes()
	return c.PlainComposer.ComposePublication(m)
}

func TestAWriteIsNotCanceledHalfWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := dbtest.NewSchool(t, func(o *db.Options) { o.Compose = &goneComposer{goes: cancel} })
	s.Confirm(t, 0, 20, "17:00-21:30")
	id := s.Publish(t).DeliveryID
	try, err := dbtest.ClaimTry(ctx, s.Store)
	if err != nil || try == nil {
		t.Fatalf("a claim whose caller goes away meanwhile answered %v, %v", try, err)
	}
	if d := dbtest.Must(s.Store.Delivery(t.Context(), id))(t); d.State != roster.Processing {
		t.Errorf("the delivery is %s, want processing", d.State)
	}
	if _, err := dbtest.ClaimTry(ctx, s.Store); err == nil {
		t.Error("somebody who is gone begins another one")
	}
}

func TestDoneJobsGoAfterAWeekAndWhatTheyCarriedStays(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Clock.Advance(time.Date(2027, 1, 8, 14, 45, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	s.Confirm(t, 0, 8, "17:00-21:30")
	s.Publish(t)
	accept(t, s, 2)
	count := func(table string) (n int) {
		t.Helper()
		if err := s.Store.SessionDB().QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := map[string]int{"jobs": 2, "deliveries": 2, "attempts": 2, "told": 1}
	for _, wait := range []time.Duration{7 * 24 * time.Hour, time.Millisecond, 400 * 24 * time.Hour} {
		s.Clock.Advance(wait)
		if _, err := s.Store.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		if wait == time.Millisecond {
			want["jobs"] = 0
		}
		for table, n := range want {
			if got := count(table); got != n {
				t.Errorf("%s later there are %d rows of %s, want %d", wait, got, table, n)
			}
		}
	}
}
