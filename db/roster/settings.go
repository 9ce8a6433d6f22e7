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
