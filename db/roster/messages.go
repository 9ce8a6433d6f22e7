package roster

import "time"

// PublicationMessage is what the announcement of a publication says to its group. It holds no personal data.
type PublicationMessage struct {
	LINEGroupID string
	GroupName   string
	Month       Month
	Number      int
	PublishedAt time.Time
	DocumentID  string
	// Base is the publication the group was last sent, nil if it was sent none of this month. Changes since then are
	// counted only when it is certain that it arrived.
	Base    *Base
	Added   int
	Changed int
	Removed int
}

// Update reports whether the group saw an earlier version, or may have.
func (m PublicationMessage) Update() bool { return m.Base != nil }

// Changes returns how many changes the message counts.
func (m PublicationMessage) Changes() int { return m.Added + m.Changed + m.Removed }

// NoticeMessage is what a notice says to one teacher about one shift of theirs.
type NoticeMessage struct {
	Kind   DeliveryKind
	LINEID string
	// Before is what they were surely told; nil if nothing, or if it is uncertain what they were told.
	Before *ToldShift
	// Now is what is so; nil when the shift is not theirs.
	Now *ToldShift
	// Gone are the shifts that they were told of, or may have been, and do not have, for a cancellation that cannot say
	// Before.
	Gone []ToldShift
	// DocumentID is of the newest publication of the shift's month; empty if there is none.
	DocumentID string
}

// ToldShift is a shift in words.
type ToldShift struct {
	Classroom string
	Date      Date
	Times     TimeRange
}

// ReceiptRequestMessage asks one teacher to open a publication and confirm it.
type ReceiptRequestMessage struct {
	LINEID      string
	GroupName   string
	Month       Month
	Number      int
	PublishedAt time.Time
	DocumentID  string
	Stale       bool // they confirmed it, and their shifts changed since
}

// Composer turns what a delivery says into the bytes of its push request, recipient included. It does no I/O, reads
// no clock and answers the same for the same message, since it is called inside a transaction.
type Composer interface {
	ComposePublication(PublicationMessage) ([]byte, error)
	ComposeNotice(NoticeMessage) ([]byte, error)
	ComposeReceiptRequest(ReceiptRequestMessage) ([]byte, error)
}
