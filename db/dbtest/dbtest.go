// Package dbtest gives tests a fresh migrated database on real disk, a settable clock and builders for the things a
// story begins with.
package dbtest

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"shiftpost/db"
)

// Start is the instant a test's clock shows first: Friday 8 January 2027, 14:32 in Tokyo.
var Start = time.Date(2027, 1, 8, 5, 32, 0, 0, time.UTC)

// Tokyo is the zone of a test's school.
var Tokyo = mustLoad("Asia/Tokyo")

func mustLoad(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}

// Open returns an empty store in a folder of its own and the clock it reads, which stands at Start. Both end with
// the test. Options may change what it is opened with.
func Open(t testing.TB, options ...func(*db.Options)) (*db.Store, *clockwork.FakeClock) {
	t.Helper()
	clock := clockwork.NewFakeClockAt(Start)
	o := db.Options{Dir: t.TempDir(), Clock: clock, Location: Tokyo, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, f := range options {
		f(&o)
	}
	s, err := db.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open test database: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close test database: %v", err)
		}
	})
	return s, clock
}

// Claim claims one job. The work is empty when the job needed no request.
func Claim(ctx context.Context, s *db.Store) (db.Work, error) {
	all, err := s.Claim(ctx, 1)
	if len(all) == 0 {
		return db.Work{}, err
	}
	return all[0], nil
}

// ClaimTry is Claim where only deliveries have jobs. The try is nil when there is nothing to send.
func ClaimTry(ctx context.Context, s *db.Store) (*db.Try, error) {
	work, err := Claim(ctx, s)
	return work.Try, err
}
