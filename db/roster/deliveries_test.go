package roster_test

import (
	"testing"
	"time"

	"shiftpost/db/roster"
)

func TestADeliveryMovesOnlyAsTheTableSays(t *testing.T) {
	t.Parallel()
	legal := map[string]bool{
		"pending>queued": true, "pending>canceled": true, "pending>failed": true,
		"queued>processing": true, "queued>canceled": true, "queued>failed": true,
		"processing>sent": true, "processing>failed": true, "processing>canceled": true, "processing>queued": true,
		"failed>queued": true, "failed>pending": true,
	}
	for _, from := range roster.DeliveryStates {
		for _, to := range roster.DeliveryStates {
			move := string(from) + ">" + string(to)
			if roster.MayMove(from, to) != legal[move] {
				t.Errorf("%s is allowed: %v", move, roster.MayMove(from, to))
			}
		}
	}
}

func TestTheNextTryIsTwiceAsLateEachTimeAndFitsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 8, 5, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name     string
		n        int
		deadline time.Duration // from now; 0 is none
		want     time.Duration
	}{
		{"after the first", 1, 0, 2 * time.Minute},
		{"after the second", 2, 0, 4 * time.Minute},
		{"after the fifth", 5, 0, 32 * time.Minute},
		{"a far deadline changes nothing", 1, 2 * time.Hour, 2 * time.Minute},
		{"five tries left share six minutes", 1, 6 * time.Minute, time.Minute},
		{"the last one left gets half of what is left", 5, 6 * time.Minute, 3 * time.Minute},
		{"never sooner than ten seconds", 1, 30 * time.Second, 10 * time.Second},
		{"past the deadline is at the deadline", 1, 4 * time.Second, 4 * time.Second},
	} {
		var deadline time.Time
		if c.deadline != 0 {
			deadline = now.Add(c.deadline)
		}
		if got := roster.NextTry(now, c.n, 2*time.Minute, deadline).Sub(now); got != c.want {
			t.Errorf("%s: next try in %s, want %s", c.name, got, c.want)
		}
	}
}

func TestARetryKeyIsUsedUntilTenMinutesBeforeLINEForgetsIt(t *testing.T) {
	t.Parallel()
	first := time.Date(2027, 1, 8, 5, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]bool{0: false, 24*time.Hour - 10*time.Minute - time.Millisecond: false, 24*time.Hour - 10*time.Minute: true, 48 * time.Hour: true} {
		if got := roster.KeyExpired(first.Add(after), first, 24*time.Hour); got != want {
			t.Errorf("after %s the key counts as expired: %v", after, got)
		}
	}
	if roster.KeyExpired(first, time.Time{}, 24*time.Hour) {
		t.Error("a key that was never used counts as expired")
	}
}

func TestARateLimitMetAgainSoonLastsTwiceAsLong(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 8, 5, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ended  time.Duration // before now
		lasted time.Duration
		want   time.Duration
	}{
		{0, 0, time.Minute},
		{time.Minute, time.Minute, 2 * time.Minute},
		{10*time.Minute - time.Second, 16 * time.Minute, 30 * time.Minute},
		{10 * time.Minute, 16 * time.Minute, time.Minute},
	} {
		var ended time.Time
		if c.ended != 0 {
			ended = now.Add(-c.ended)
		}
		if got := roster.NextRateLimit(now, ended, c.lasted); got != c.want {
			t.Errorf("ended %s ago after %s: lasts %s, want %s", c.ended, c.lasted, got, c.want)
		}
	}
}
