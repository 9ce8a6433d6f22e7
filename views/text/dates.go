package text

import (
	"context"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// Weekday returns the short name of a day of the week: 金, Fri.
func Weekday(ctx context.Context, d roster.Date) string {
	return T(ctx, "dates.weekday."+[]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[d.Weekday()])
}

// Date writes a day in full: 2027年1月8日(金), Fri 8 Jan 2027.
func Date(ctx context.Context, d roster.Date) string {
	return T(ctx, "dates.date", "Year", d.Year, "Month", int(d.Month), "MonthName", d.Month.String()[:3], "Day", d.Day, "Weekday", Weekday(ctx, d))
}

// LongDate writes a day without its year: 1月8日(金), Fri 8 Jan.
func LongDate(ctx context.Context, d roster.Date) string {
	return T(ctx, "dates.long", "Month", int(d.Month), "MonthName", d.Month.String()[:3], "Day", d.Day, "Weekday", Weekday(ctx, d))
}

// ShortDate writes a day for a dense list: 1/8(金), Fri 8 Jan.
func ShortDate(ctx context.Context, d roster.Date) string {
	return T(ctx, "dates.short", "Month", int(d.Month), "MonthName", d.Month.String()[:3], "Day", d.Day, "Weekday", Weekday(ctx, d))
}

// Month writes a month: 2027年1月, January 2027.
func Month(ctx context.Context, m roster.Month) string {
	return T(ctx, "dates.month", "Year", m.Year, "Month", int(m.Month), "MonthName", m.Month.String())
}

// MonthAlone writes a month without its year: 1月, January.
func MonthAlone(ctx context.Context, m roster.Month) string {
	return T(ctx, "dates.month_alone", "Month", int(m.Month), "MonthName", m.Month.String())
}

// Time writes a time of day: 17:00, and for the following night 翌1:00, 1:00 (+1).
func Time(ctx context.Context, m roster.Minutes) string {
	hour, minute := m.OfDay()
	clock := fmt.Sprintf("%d:%02d", hour, minute)
	if m.NextDay() {
		return T(ctx, "dates.next_day", "Clock", clock)
	}
	return clock
}

// Range writes a time range: 17:00–21:30, 22:00–翌1:00.
func Range(ctx context.Context, r roster.TimeRange) string {
	return Time(ctx, r.Start) + "–" + Time(ctx, r.End)
}

// Clock writes the time of day of an instant on the school's clock: 14:32.
func Clock(t time.Time, loc *time.Location) string { return t.In(loc).Format("15:04") }

// ClockSeconds is Clock with seconds: 14:32:05.
func ClockSeconds(t time.Time, loc *time.Location) string { return t.In(loc).Format("15:04:05") }

// Moment writes an instant on the school's clock: 1月8日(金) 14:32.
func Moment(ctx context.Context, t time.Time, loc *time.Location) string {
	return LongDate(ctx, roster.DateOf(t, loc)) + " " + Clock(t, loc)
}
