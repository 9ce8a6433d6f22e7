package roster

import "time"

// lineZone is the zone of LINE's months: Japan's, wherever the school is.
var lineZone = time.FixedZone("JST", 9*60*60)

// LINEMonth returns the month in which LINE counts what is sent at t.
func LINEMonth(t time.Time) Month { return DateOf(t, lineZone).MonthOf() }

// LINEMonthEnd returns the instant at which LINE begins to count anew.
func LINEMonthEnd(m Month) time.Time { return Instant(m.Add(1).First(), 0, lineZone) }

// QuotaWarnPercent is the part of a month's limit from which on the product warns.
const QuotaWarnPercent = 80

// Quota is how many of LINE's messages the month has used and will use. LINE counts recipients: an announcement costs
// one for each member of its group.
type Quota struct {
	Month    Month     // LINE's
	ReadAt   time.Time // when LINE answered last; zero if it never did
	FailedAt time.Time // when LINE was asked last, if it did not answer then; else zero
	Limited  bool      // meaningless while ReadAt is zero
	Limit    int       // messages a month; meaningless unless Limited
	LINEUsed int       // this month, by LINE's count when it answered; 0 if that was in an earlier month
	OwnThen  int       // this month, by our count when LINE answered
	Own      int       // this month, by our count now
	// What is still to come this month, as far as it is known: what waits now, and a reminder for each confirmed shift
	// of a teacher who can be told.
	Waiting   int
	Reminders int
}

// Known reports whether the limit is known: LINE answered at least once.
func (q Quota) Known() bool { return !q.ReadAt.IsZero() }

// LINEKnown reports whether LINE's count is one of this month.
func (q Quota) LINEKnown() bool { return q.Known() && LINEMonth(q.ReadAt) == q.Month }

// Used returns how many messages the month has used: by LINE's count and what we sent since, but never fewer than we
// sent, since LINE's count lags behind.
func (q Quota) Used() int {
	if !q.LINEKnown() {
		return q.Own
	}
	return max(q.Own, q.LINEUsed+max(0, q.Own-q.OwnThen))
}

// Left returns how many messages are left of the limit, never less than 0.
func (q Quota) Left() int { return max(0, q.Limit-q.Used()) }

// Forecast returns how many messages the month will have used at its end when nothing is added.
func (q Quota) Forecast() int { return q.Used() + q.Waiting + q.Reminders }

// Mark returns from how many messages on the product warns.
func (q Quota) Mark() int { return q.Limit * QuotaWarnPercent / 100 }

// Tightness says how a number of messages stands to the month's limit.
type Tightness int

// The degrees of tightness.
const (
	QuotaEnough Tightness = iota // or there is no limit, or it is not known
	QuotaTight                   // the mark is reached: warn
	QuotaOver                    // more than the limit: ask
)

// With says how tight the month becomes at its end when that many messages are added to it.
func (q Quota) With(messages int) Tightness {
	n := q.Forecast() + messages
	switch {
	case !q.Known() || !q.Limited:
		return QuotaEnough
	case n > q.Limit:
		return QuotaOver
	case n >= q.Mark():
		return QuotaTight
	}
	return QuotaEnough
}
