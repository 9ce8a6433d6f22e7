package views

import (
	"context"
	"strconv"
	"time"

	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// Shelf separates what is in use from what was put away.
type Shelf[T any] struct {
	InUse    []T
	Archived []T
}

// Shelve sorts a list by when its things were archived, the zero time standing for never.
func Shelve[T any](list []T, archivedAt func(T) time.Time) Shelf[T] {
	var s Shelf[T]
	for _, v := range list {
		if archivedAt(v).IsZero() {
			s.InUse = append(s.InUse, v)
		} else {
			s.Archived = append(s.Archived, v)
		}
	}
	return s
}

// FormState is what all edit forms have beside their fields. A new thing has ID 0.
type FormState struct {
	ID         int64
	EditNumber int64     // of the thing as the form shows it; comes back with the form
	ArchivedAt time.Time // zero while in use
	Errors     ui.Errors
	Stale      *Stale
	Refusal    string // why it cannot be archived or brought back; empty if it was not refused
}

// New reports whether the form adds a thing.
func (s FormState) New() bool { return s.ID == 0 }

// Archived reports whether the thing was put away.
func (s FormState) Archived() bool { return !s.ArchivedAt.IsZero() }

// Stale tells that somebody else changed a thing since the form was filled: when, and to what.
type Stale struct {
	At     string // the time of day
	Latest []Fact
}

// Fact is a name and its value.
type Fact struct {
	Name  string
	Value string
}

// itoa writes an id or a number for an address or a field.
func itoa[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// LeadTime writes how long before a shift its reminder goes: 2時間前, 2 h before.
func LeadTime(ctx context.Context, minutes int) string {
	h, m := minutes/60, minutes%60
	switch {
	case h == 0:
		return text.T(ctx, "groups.lead.minutes", "Minutes", m)
	case m == 0:
		return text.T(ctx, "groups.lead.hours", "Hours", h)
	}
	return text.T(ctx, "groups.lead.both", "Hours", h, "Minutes", m)
}

// optional writes a number that may be missing.
func optional(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// resource is a kind of thing that can be added, edited and archived: its address and its words.
type resource struct {
	Path         string // of all of them
	Create       string
	Archive      string
	ArchiveMeans string // what archiving does and when it is refused
	Restore      string
	Archived     string // the heading of the archived ones
}

// path is the address of one of them.
func (r resource) path(id int64) string { return r.Path + "/" + itoa(id) }

// archiveTitle heads the panel that puts a thing away or brings it back.
func archiveTitle(ctx context.Context, s FormState, r resource) string {
	if s.Archived() {
		return text.T(ctx, "actions.archived")
	}
	return r.Archive
}

// archivedRow is one line of archivedPanel.
type archivedRow struct {
	ID    int64
	Name  string
	Facts string
}
