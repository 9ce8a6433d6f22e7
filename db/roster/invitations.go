package roster

import "time"

// InvitationLife is how long an invitation can be used.
const InvitationLife = 14 * 24 * time.Hour

// Invitation lets one teacher link their LINE user, once.
type Invitation struct {
	ID        int64
	TeacherID int64
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Link is that a LINE user is or was linked to a teacher.
type Link struct {
	Teacher    Teacher // as they are now
	LINEUserID string
	LinkedAt   time.Time
	UnlinkedAt time.Time // zero while the link stands
}
