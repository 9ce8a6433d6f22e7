package roster

import "time"

// MaxUndoWindow bounds how long a correction may wait for a further edit; longer, and the person concerned would learn
// of it late.
const MaxUndoWindow = 10 * time.Minute

// Settings are what an admin set for the whole school.
type Settings struct {
	UndoWindow time.Duration // how long a correction or cancellation caused by an edit waits; whole seconds
	EditNumber int64         // grows at every write; 1 while nothing was ever set
	UpdatedAt  time.Time     // zero while nothing was ever set
}

// MinRetention and MaxRetention bound a Retention, in months. Less, and the records of a month would go while people
// still ask about it.
const (
	MinRetention = 3
	MaxRetention = 120
)

// Retention says how long it is kept what was sent, to whom and when.
type Retention struct {
	Months     int       // whole months that follow the one of the shift or publication; 0: for ever
	EditNumber int64     // grows at every write; 1 while it was never set
	UpdatedAt  time.Time // zero while it was never set
}

// KeptFrom returns the first day of which records are kept, as of today; zero when all are.
func (r Retention) KeptFrom(today Date) Date {
	if r.Months == 0 {
		return Date{}
	}
	return today.MonthOf().Add(-r.Months).First()
}

// MayLack reports whether records of a month may have been erased, as of today: by this retention, or by a shorter one
// that was set before it.
func (r Retention) MayLack(m Month, today Date) bool {
	shortest := Retention{Months: MinRetention}
	return !r.UpdatedAt.IsZero() && m.First().Before(shortest.KeptFrom(today))
}
