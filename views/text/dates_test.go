package text_test

import (
	"context"
	"testing"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

func TestDatesAreWrittenAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	ja := context.Background()
	en := text.WithLanguage(ja, text.English)
	day := roster.Date{Year: 2027, Month: time.January, Day: 8}
	night := roster.TimeRange{Start: 22 * 60, End: 25 * 60}
	for _, c := range []struct{ got, want string }{
		{text.Date(ja, day), "2027年1月8日(金)"},
		{text.Date(en, day), "Fri 8 Jan 2027"},
		{text.LongDate(ja, day), "1月8日(金)"},
		{text.ShortDate(ja, day), "1/8(金)"},
		{text.ShortDate(en, day), "Fri 8 Jan"},
		{text.Month(ja, day.MonthOf()), "2027年1月"},
		{text.Month(en, day.MonthOf()), "January 2027"},
		{text.MonthAlone(ja, day.MonthOf()), "1月"},
		{text.Range(ja, roster.TimeRange{Start: 17 * 60, End: 21*60 + 30}), "17:00–21:30"},
		{text.Range(ja, night), "22:00–翌1:00"},
		{text.Range(en, night), "22:00–1:00 (+1)"},
		{text.Moment(ja, time.Date(2027, 1, 8, 5, 32, 0, 0, time.UTC), time.FixedZone("JST", 9*3600)), "1月8日(金) 14:32"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
