package roster

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Date is a calendar day in the school's time zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of t as a clock in loc shows it.
func DateOf(t time.Time, loc *time.Location) Date {
	y, m, d := t.In(loc).Date()
	return Date{y, m, d}
}

// ParseDate reads YYYY-MM-DD and refuses days that do not exist.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("date %.20q is not YYYY-MM-DD", s)
	}
	return Date{t.Year(), t.Month(), t.Day()}, nil
}

// String returns YYYY-MM-DD.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// IsZero reports whether d is no day at all.
func (d Date) IsZero() bool { return d == Date{} }

// AddDays returns the day n days later.
func (d Date) AddDays(n int) Date {
	t := time.Date(d.Year, d.Month, d.Day+n, 0, 0, 0, 0, time.UTC)
	return Date{t.Year(), t.Month(), t.Day()}
}

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Weekday()
}

// Before reports whether d is an earlier day than e.
func (d Date) Before(e Date) bool { return d.Compare(e) < 0 }

// Compare returns -1, 0 or 1 as d is before, on or after e.
func (d Date) Compare(e Date) int {
	switch {
	case d == e:
		return 0
	case d.Year != e.Year:
		return sign(d.Year - e.Year)
	case d.Month != e.Month:
		return sign(int(d.Month - e.Month))
	}
	return sign(d.Day - e.Day)
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// MonthOf returns the month d lies in.
func (d Date) MonthOf() Month { return Month{d.Year, d.Month} }

// MarshalText writes YYYY-MM-DD.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads YYYY-MM-DD.
func (d *Date) UnmarshalText(b []byte) error {
	v, err := ParseDate(string(b))
	*d = v
	return err
}

// Value stores the day as YYYY-MM-DD.
func (d Date) Value() (driver.Value, error) { return d.String(), nil }

// Scan reads a day stored as YYYY-MM-DD.
func (d *Date) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("date: cannot read a %T", src)
	}
	return d.UnmarshalText([]byte(s))
}

// Month is a calendar month in the school's time zone.
type Month struct {
	Year  int
	Month time.Month
}

// The months a roster can be made for; outside of them a typing error is certain.
const (
	FirstYear = 2020
	LastYear  = 2049
)

// ErrMonth tells that a text is no month between FirstYear and LastYear.
var ErrMonth = errors.New("not a month")

// ParseMonth reads YYYY-MM between FirstYear and LastYear. The error is ErrMonth.
func ParseMonth(s string) (Month, error) {
	t, err := time.Parse("2006-01", s)
	if err != nil || t.Year() < FirstYear || t.Year() > LastYear {
		return Month{}, fmt.Errorf("%.20q: %w", s, ErrMonth)
	}
	return Month{t.Year(), t.Month()}, nil
}

// String returns YYYY-MM.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m.Year, m.Month) }

// Add returns the month n months later.
func (m Month) Add(n int) Month {
	t := time.Date(m.Year, m.Month+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	return Month{t.Year(), t.Month()}
}

// First returns the first day of the month.
func (m Month) First() Date { return Date{m.Year, m.Month, 1} }

// Last returns the last day of the month.
func (m Month) Last() Date { return m.Add(1).First().AddDays(-1) }

// Days lists the days of the month.
func (m Month) Days() []Date {
	var days []Date
	for d := m.First(); d.Month == m.Month; d = d.AddDays(1) {
		days = append(days, d)
	}
	return days
}

// Contains reports whether d lies in the month.
func (m Month) Contains(d Date) bool { return d.MonthOf() == m }

// MarshalText writes YYYY-MM.
func (m Month) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads YYYY-MM.
func (m *Month) UnmarshalText(b []byte) error {
	v, err := ParseMonth(string(b))
	*m = v
	return err
}

// Value stores the month as YYYY-MM.
func (m Month) Value() (driver.Value, error) { return m.String(), nil }

// Scan reads a month stored as YYYY-MM.
func (m *Month) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("month: cannot read a %T", src)
	}
	return m.UnmarshalText([]byte(s))
}

// Minutes is a time of day in minutes from the midnight that begins a shift's date, on the school's clock. It may
// pass 24:00: 25:00 is one o'clock in the following night.
type Minutes int

// String returns the 25:00 notation, as forms take it.
func (m Minutes) String() string { return fmt.Sprintf("%d:%02d", m/60, m%60) }

// NextDay reports whether the time lies after the midnight that ends the shift's date.
func (m Minutes) NextDay() bool { return m >= 24*60 }

// OfDay returns hour and minute as a clock shows them: 25:00 is 1 and 0.
func (m Minutes) OfDay() (hour, minute int) { return int(m) / 60 % 24, int(m) % 60 }

// LastMinute is the latest end of a shift: 30:00, six o'clock the next morning.
const LastMinute Minutes = 30 * 60

// TimeRange is a span of local time within one shift date, Start before End.
type TimeRange struct {
	Start Minutes `json:"start"`
	End   Minutes `json:"end"`
}

// String returns 17:00–21:30 or 22:00–25:00, which ParseTimeRange reads again.
func (r TimeRange) String() string { return r.Start.String() + "–" + r.End.String() }

// Overlaps reports whether the two ranges, which begin on the days d and e, share a minute on the wall clock.
func (r TimeRange) Overlaps(d Date, o TimeRange, e Date) bool {
	shift := Minutes(daysBetween(d, e) * 24 * 60)
	return r.Start < o.End+shift && o.Start+shift < r.End
}

func daysBetween(d, e Date) int {
	a := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)
	b := time.Date(e.Year, e.Month, e.Day, 0, 0, 0, 0, time.UTC)
	return int(b.Sub(a) / (24 * time.Hour))
}

// The ways a typed time range can be wrong.
var (
	ErrRangeForm   = errors.New("not two times")
	ErrRangeMinute = errors.New("minutes are not between 00 and 59")
	ErrRangeOrder  = errors.New("the end is not after the start")
	ErrRangeLate   = errors.New("a time is after 30:00")
)

// ParseTimeRange reads what people type for a time range: 17:00-21:30, 17-2130, 17時〜21時半 is not among them, but
// full-width digits, 〜 and 翌 are. The error is one of the ErrRange values.
func ParseTimeRange(s string) (TimeRange, error) {
	s = strings.Map(narrow, s)
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		return TimeRange{}, ErrRangeForm
	}
	start, err := parseMinutes(from)
	if err != nil {
		return TimeRange{}, err
	}
	end, err := parseMinutes(to)
	if err != nil {
		return TimeRange{}, err
	}
	return NewTimeRange(start, end)
}

// NewTimeRange checks order and limit. The error is ErrRangeOrder or ErrRangeLate.
func NewTimeRange(start, end Minutes) (TimeRange, error) {
	switch {
	case start > LastMinute || end > LastMinute:
		return TimeRange{}, ErrRangeLate
	case end <= start:
		return TimeRange{}, ErrRangeOrder
	}
	return TimeRange{start, end}, nil
}

// narrow folds the signs that Japanese keyboards produce into ASCII and drops spaces.
func narrow(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return -1
	case r >= '０' && r <= '９':
		return r - '０' + '0'
	case r == '：':
		return ':'
	}
	if strings.ContainsRune("〜～–—―ー－−‐‑~", r) {
		return '-'
	}
	return r
}

func parseMinutes(s string) (Minutes, error) {
	next := strings.HasPrefix(s, "翌")
	s = strings.TrimPrefix(s, "翌")
	hour, minute, colon := strings.Cut(s, ":")
	if !colon {
		minute = "0"
		if len(hour) > 2 {
			hour, minute = hour[:len(hour)-2], hour[len(hour)-2:]
		}
	} else if len(minute) != 2 {
		return 0, ErrRangeForm
	}
	h, err1 := parseDigits(hour)
	m, err2 := parseDigits(minute)
	if err1 != nil || err2 != nil {
		return 0, ErrRangeForm
	}
	if m > 59 {
		return 0, ErrRangeMinute
	}
	if next {
		h += 24
	}
	return Minutes(h*60 + m), nil
}

func parseDigits(s string) (int, error) {
	if len(s) == 0 || len(s) > 2 || strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) >= 0 {
		return 0, ErrRangeForm
	}
	return strconv.Atoi(s)
}

// Instant returns when a clock in loc that showed midnight at the start of d shows m. A time that daylight saving
// skips moves forward by the skipped span; of a time that exists twice it is the first.
func Instant(d Date, m Minutes, loc *time.Location) time.Time {
	wall := time.Date(d.Year, d.Month, d.Day, 0, int(m), 0, 0, time.UTC)
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(loc).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := offset(wall.Add(-36*time.Hour)), offset(wall.Add(36*time.Hour))
	early, late := wall.Add(-before), wall.Add(-after)
	if late.Before(early) {
		early, late = late, early
	}
	for _, t := range []time.Time{early, late} {
		if t.Add(offset(t)).Equal(wall) {
			return t.UTC()
		}
	}
	return wall.Add(-before).UTC()
}
