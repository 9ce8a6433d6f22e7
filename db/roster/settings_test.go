package roster_test

import (
	"testing"
	"time"

	"shiftpost/db/roster"
)

func TestRecordsOfAMonthMayBeGoneOnceSomeRetentionWasSetAndTheShortestIsOver(t *testing.T) {
	t.Parallel()
	today := roster.Date{Year: 2027, Month: time.May, Day: 31}
	january, february := roster.Month{Year: 2027, Month: time.January}, roster.Month{Year: 2027, Month: time.February}
	at := roster.Instant(today, 0, time.UTC)
	for _, c := range []struct {
		name string
		kept roster.Retention
		of   roster.Month
		want bool
	}{
		{"never set", roster.Retention{EditNumber: 1}, january, false},
		{"set", roster.Retention{Months: 3, EditNumber: 2, UpdatedAt: at}, january, true},
		{"set and younger than any", roster.Retention{Months: 3, EditNumber: 2, UpdatedAt: at}, february, false},
		{"set longer, maybe after a shorter one", roster.Retention{Months: 120, EditNumber: 3, UpdatedAt: at}, january, true},
		{"taken back", roster.Retention{EditNumber: 3, UpdatedAt: at}, january, true},
	} {
		if got := c.kept.MayLack(c.of, today); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
