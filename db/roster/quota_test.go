package roster_test

import (
	"testing"
	"time"

	"shiftpost/db/roster"
)

// readIn makes an instant of a day of January 2027 in Japan.
func readIn(day int) time.Time { return time.Date(2027, 1, day, 3, 0, 0, 0, time.UTC) }

func TestUsedMessagesAreNeverFewerThanEitherCountKnows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    roster.Quota
		want int
	}{
		"LINE was never asked":                  {roster.Quota{Own: 46}, 46},
		"LINE counts what was sent by hand too": {roster.Quota{ReadAt: readIn(8), LINEUsed: 48, OwnThen: 46, Own: 46}, 48},
		"we sent more since LINE was asked":     {roster.Quota{ReadAt: readIn(8), LINEUsed: 48, OwnThen: 46, Own: 60}, 62},
		"LINE's count lags behind ours":         {roster.Quota{ReadAt: readIn(8), LINEUsed: 30, OwnThen: 46, Own: 46}, 46},
		"LINE's answer is of last month":        {roster.Quota{ReadAt: readIn(8).AddDate(0, -1, 0), LINEUsed: 190, Own: 3}, 3},
	} {
		c.q.Month = january
		if got := c.q.Used(); got != c.want {
			t.Errorf("%s: %d used, want %d", name, got, c.want)
		}
	}
}

func TestTheForecastWarnsFrom80PercentAndAsksAboveTheLimit(t *testing.T) {
	t.Parallel()
	q := roster.Quota{Month: january, ReadAt: readIn(8), Limited: true, Limit: 200, LINEUsed: 46, OwnThen: 46, Own: 46, Waiting: 4, Reminders: 100}
	if q.Left() != 154 || q.Forecast() != 150 || q.Mark() != 160 {
		t.Fatalf("left %d, forecast %d, mark %d", q.Left(), q.Forecast(), q.Mark())
	}
	for messages, want := range map[int]roster.Tightness{0: roster.QuotaEnough, 9: roster.QuotaEnough, 10: roster.QuotaTight, 50: roster.QuotaTight, 51: roster.QuotaOver} {
		if got := q.With(messages); got != want {
			t.Errorf("%d more: %d, want %d", messages, got, want)
		}
	}
	for name, free := range map[string]roster.Quota{"no limit": {ReadAt: readIn(8), Own: 900}, "not known": {Own: 900}} {
		if got := free.With(500); got != roster.QuotaEnough {
			t.Errorf("%s: %d", name, got)
		}
	}
	q.LINEUsed = 230
	if q.Left() != 0 {
		t.Errorf("%d left of a limit that is passed", q.Left())
	}
}

func TestLINEsMonthsAreJapans(t *testing.T) {
	t.Parallel()
	last := time.Date(2027, 1, 31, 14, 59, 59, 0, time.UTC)
	if roster.LINEMonth(last) != january || roster.LINEMonth(last.Add(time.Second)) != january.Add(1) {
		t.Error("the month does not change at midnight in Japan")
	}
	if end := roster.LINEMonthEnd(january); !end.Equal(last.Add(time.Second)) {
		t.Errorf("January ends at %s", end)
	}
}
