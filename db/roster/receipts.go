package roster

import "time"

// Receipt is what is known of a teacher's look at a publication. The zero value says that they did not open it.
type Receipt struct {
	OpenedAt    time.Time // the first time
	ConfirmedAt time.Time // the last time; zero while they did not
	Own         Snapshot  // what they confirmed: their part of the month as it was then
}

// Confirmed reports whether the teacher confirmed the publication and their shifts are still what they confirmed.
func (r Receipt) Confirmed(live Snapshot) bool {
	return !r.ConfirmedAt.IsZero() && len(Compare(r.Own, live)) == 0
}

// Confirmation is the last time a teacher confirmed any publication of a group's month.
type Confirmation struct {
	Number  int // of the publication
	At      time.Time
	Changes []Change // of the teacher's shifts from then until now
}

// ReceiptState says how far a teacher is with a publication.
type ReceiptState string

// The states of a receipt. A teacher moves it on by opening and confirming; a change of their shifts makes a
// confirmation stale, and confirming again ends that.
const (
	ReceiptNone      ReceiptState = "none"      // not opened
	ReceiptOpened    ReceiptState = "opened"    // opened, not confirmed
	ReceiptConfirmed ReceiptState = "confirmed" // confirmed, and nothing of theirs changed since
	ReceiptStale     ReceiptState = "stale"     // confirmed, but their shifts changed since
)

// TeacherReceipt is a line of the list of who opened and confirmed a publication.
type TeacherReceipt struct {
	Teacher Teacher // as it is now; archived when the teacher left
	Shifts  int     // of theirs in the publication
	State   ReceiptState
	Receipt Receipt
	// Earlier is their last confirmation of a publication with a lower number, of which nothing of theirs changed
	// since; nil if there is none or it matters no more.
	Earlier *Confirmation
}
