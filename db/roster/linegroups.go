package roster

import "time"

// LINEGroup is a LINE group that the account is in or was in.
type LINEGroup struct {
	ID          int64
	LINEGroupID string
	Name        string    // empty while LINE did not say
	MemberCount int       // without the account itself; 0 while LINE did not say
	JoinedAt    time.Time // when the account was last invited
	LeftAt      time.Time // zero while it is in it
	DismissedAt time.Time // an admin said that it is not the school's
	GroupID     int64     // the group it is tied to; 0 if to none
}

// Present reports whether the account is in it.
func (g LINEGroup) Present() bool { return g.LeftAt.IsZero() }
