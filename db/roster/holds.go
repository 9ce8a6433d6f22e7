package roster

import "time"

// HoldCause says why pushes wait although jobs are due.
type HoldCause string

// The causes of a hold and what ends each. All but the clock's are faults of the channel that one message met first.
const (
	HoldUnauthorized HoldCause = "unauthorized"  // 401: LINE answers the bot's own information again
	HoldForbidden    HoldCause = "forbidden"     // 403: a person resumes
	HoldRateLimit    HoldCause = "rate_limit"    // 429: time alone
	HoldMonthlyLimit HoldCause = "monthly_limit" // 429 with the monthly text: what is left covers what met it
	HoldClock        HoldCause = "clock"         // the clock is behind the newest row: it catches up, or a person resumes
)

// HoldCauses lists all causes.
var HoldCauses = []HoldCause{HoldUnauthorized, HoldForbidden, HoldRateLimit, HoldMonthlyLimit, HoldClock}

// Hold is a cause for which pushes wait now.
type Hold struct {
	Cause      HoldCause
	Since      time.Time
	ProbeAt    time.Time // when it is next looked at; zero: only a person ends it
	Notices    bool      // notices wait too, not publications alone
	Needed     int       // monthly limit: messages that what met it costs
	DeliveryID int64     // what met it; 0 for the clock
}

// EndsByProof reports whether LINE's accepting a message ends the hold: of what is left of the month's messages it says
// nothing, nor of the clock.
func (h Hold) EndsByProof() bool {
	return h.Cause == HoldUnauthorized || h.Cause == HoldForbidden || h.Cause == HoldRateLimit
}

// HeldWork is what one hold keeps back.
type HeldWork struct {
	Publications int  // announcements that wait and go at its end
	Notices      int  // notices that wait and go at its end
	Again        int  // notices that failed by it and are queued again at its end
	Offered      int  // deliveries that failed by it and are left for a person to retry
	Messages     int  // what goes at its end costs at most
	Blocked      bool // another hold keeps the same back: nothing goes yet
}

// The pace of looking whether a hold can end, and the bounds of a rate limit's.
const (
	UnauthorizedProbeEvery = 5 * time.Minute
	MonthlyProbeEvery      = time.Hour
	RateLimitFirst         = time.Minute
	RateLimitLongest       = 30 * time.Minute
	RateLimitMemory        = 10 * time.Minute // met again within this after its end, it lasts twice as long
	ClockTolerance         = 10 * time.Minute // how far the clock may be behind the newest row
)

// NextMonthlyProbe returns when a monthly limit is looked at next: in an hour, or when LINE's month begins anew if that is
// earlier.
func NextMonthlyProbe(now time.Time) time.Time {
	hour, month := now.Add(MonthlyProbeEvery), LINEMonthEnd(LINEMonth(now))
	if month.Before(hour) {
		return month
	}
	return hour
}

// NextRateLimit returns how long a rate limit met now lasts: twice as long as the one before if that one ended less
// than ten minutes ago.
func NextRateLimit(now, endedAt time.Time, lasted time.Duration) time.Duration {
	if endedAt.IsZero() || now.Sub(endedAt) >= RateLimitMemory {
		return RateLimitFirst
	}
	return min(2*lasted, RateLimitLongest)
}
