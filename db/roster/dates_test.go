package roster_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db/roster"
)

func TestATimeRangeIsReadTheWayPeopleTypeIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"17:00-21:30":     "17:00–21:30",
		"17-2130":         "17:00–21:30",
		"1700-2130":       "17:00–21:30",
		"9-17":            "9:00–17:00",
		" 17:00 – 21:30 ": "17:00–21:30",
		"１７：００〜２１：３０":     "17:00–21:30",
		"17ー21":           "17:00–21:00",
		"22-25":           "22:00–25:00",
		"22:00-翌1:00":     "22:00–25:00",
		"25:00-26:30":     "25:00–26:30",
		"0:00-30:00":      "0:00–30:00",
	} {
		if got, err := roster.ParseTimeRange(in); err != nil || got.String() != want {
			t.Errorf("%q was read as %s (%v), want %s", in, got, err, want)
		}
	}
}

func TestAWrongTimeRangeSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]error{
		"":                roster.ErrRangeForm,
		"17:00":           roster.ErrRangeForm,
		"17:00-":          roster.ErrRangeForm,
		"a-b":             roster.ErrRangeForm,
		"17:0-18:00":      roster.ErrRangeForm,
		"17:00-18:000":    roster.ErrRangeForm,
		"17-18-19":        roster.ErrRangeForm,
		"+17-18":          roster.ErrRangeForm,
		"17:60-18:00":     roster.ErrRangeMinute,
		"25:70-26:00":     roster.ErrRangeMinute,
		"21:30-17:00":     roster.ErrRangeOrder,
		"17:00-17:00":     roster.ErrRangeOrder,
		"22:00-30:01":     roster.ErrRangeLate,
		"99:00-99:30":     roster.ErrRangeLate,
		"17:00-18:00\x00": roster.ErrRangeForm,
	} {
		if got, err := roster.ParseTimeRange(in); !errors.Is(err, want) {
			t.Errorf("%q answered %s, %v, want %v", in, got, err, want)
		}
	}
}

func FuzzParseTimeRange(f *testing.F) {
	f.Add("17:00-21:30")
	f.Add("22-翌1")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := roster.ParseTimeRange(s)
		if err != nil {
			return
		}
		if r.Start < 0 || r.End <= r.Start || r.End > roster.LastMinute {
			t.Fatalf("%q was read as %s", s, r)
		}
		if again, err := roster.ParseTimeRange(r.String()); err != nil || again != r {
			t.Fatalf("%s is read again as %s, %v", r, again, err)
		}
	})
}

func TestMonthsOutsideTheYearsOfARosterAreNone(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "2026-13", "2026-00", "2026-1", "26-01", "1999-12", "2050-01", "2026-01-01", "０２０２-01"} {
		if m, err := roster.ParseMonth(in); !errors.Is(err, roster.ErrMonth) {
			t.Errorf("%q was read as %s, %v", in, m, err)
		}
	}
	m, err := roster.ParseMonth("2026-12")
	if err != nil || m.Add(1).String() != "2027-01" || m.Last().String() != "2026-12-31" || len(m.Days()) != 31 || m.Add(-11).String() != "2026-01" {
		t.Errorf("December 2026 is followed by %s and ends on %s (%v)", m.Add(1), m.Last(), err)
	}
}

func TestAnInstantFollowsTheSchoolsClockOverNightsAndClockChanges(t *testing.T) {
	t.Parallel()
	tokyo, newYork := load(t, "Asia/Tokyo"), load(t, "America/New_York")
	day := func(s string) roster.Date {
		d, err := roster.ParseDate(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		name string
		loc  *time.Location
		date string
		at   roster.Minutes
		want string
	}{
		{"evening in Tokyo", tokyo, "2027-01-08", 17 * 60, "2027-01-08T17:00:00+09:00"},
		{"25:00 is one o'clock in the night after", tokyo, "2027-01-31", 25 * 60, "2027-02-01T01:00:00+09:00"},
		{"the hour before spring's switch", newYork, "2027-03-14", 90, "2027-03-14T01:30:00-05:00"},
		{"a time that does not exist moves forward", newYork, "2027-03-14", 2*60 + 30, "2027-03-14T03:30:00-04:00"},
		{"after spring's switch", newYork, "2027-03-14", 4 * 60, "2027-03-14T04:00:00-04:00"},
		{"a night that runs into spring's switch", newYork, "2027-03-13", 26*60 + 30, "2027-03-14T03:30:00-04:00"},
		{"a time that exists twice is the first", newYork, "2027-11-07", 90, "2027-11-07T01:30:00-04:00"},
		{"after autumn's switch", newYork, "2027-11-07", 2 * 60, "2027-11-07T02:00:00-05:00"},
		{"midnight of autumn's switch", newYork, "2027-11-07", 0, "2027-11-07T00:00:00-04:00"},
	} {
		if got := roster.Instant(day(c.date), c.at, c.loc).In(c.loc).Format(time.RFC3339); got != c.want {
			t.Errorf("%s: %s %s is %s, want %s", c.name, c.date, c.at, got, c.want)
		}
	}
}

func load(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestHolidaysCountBeforeTheWeekday(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]roster.DayKind{
		"2027-01-01": roster.HolidayDay, "2027-01-02": roster.Saturday, "2027-01-03": roster.Sunday, "2027-01-04": roster.Weekday,
		"2027-01-11": roster.HolidayDay, "2027-03-21": roster.HolidayDay, "2027-03-22": roster.HolidayDay,
	} {
		d, err := roster.ParseDate(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := roster.KindOf(d); got != want {
			t.Errorf("%s is of kind %d, want %d", in, got, want)
		}
	}
	d, _ := roster.ParseDate("2027-01-11")
	if h, ok := roster.HolidayOn(d); !ok || h.Japanese != "成人の日" || h.English != "Coming of Age Day" {
		t.Errorf("11 January 2027 is %v", h)
	}
}

func TestANameWrapsAfterTheSurnameOrAtAMiddleDot(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"佐藤 花子": 2, "佐藤　花子": 2, "マリア・フェルナンデス": 2, "プラトン": 1, "Ann B. Chin": 2, "ア・": 1} {
		if got := roster.NameLines(in); len(got) != want {
			t.Errorf("%s wraps into %q, want %d lines", in, got, want)
		}
	}
}
