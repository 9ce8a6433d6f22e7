package views

import (
	"context"
	"fmt"
	"strings"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// ChannelPath is the address of the page about the connection to LINE.
const ChannelPath = "/channel"

// HoldPath is the address of a hold.
func HoldPath(c roster.HoldCause) string { return ChannelPath + "/holds/" + string(c) }

// Hold is a cause for which pushes wait now, with what it keeps back.
type Hold struct {
	roster.Hold
	Work roster.HeldWork
}

// seenHolds tells one look of the holds from another.
func seenHolds(holds []Hold) string {
	var b strings.Builder
	for _, h := range holds {
		fmt.Fprintf(&b, "%s%d.%d.%d.%d.%d", h.Cause, h.Since.Unix(), h.ProbeAt.Unix(), h.Work.Publications, h.Work.Notices, h.Work.Again)
	}
	return b.String()
}

// waits counts what waits: 公開1件・知らせ12件.
func (h Hold) waits(ctx context.Context) string {
	return countDeliveries(ctx, h.Work.Publications, h.Work.Notices)
}

// sends counts what goes when the hold ends: what waits, and the notices that failed by it.
func (h Hold) sends(ctx context.Context) string {
	return countDeliveries(ctx, h.Work.Publications, h.Work.Notices+h.Work.Again)
}

func countDeliveries(ctx context.Context, publications, notices int) string {
	var parts []string
	if publications > 0 {
		parts = append(parts, text.N(ctx, "channel.publications", publications))
	}
	if notices > 0 {
		parts = append(parts, text.N(ctx, "channel.notices", notices))
	}
	if len(parts) == 0 {
		return text.T(ctx, "channel.nothing")
	}
	return strings.Join(parts, text.T(ctx, "deliveries.dot"))
}

// button is what the button that ends the hold says: what it costs where it sends something.
func (h Hold) button(ctx context.Context) string {
	if h.Work.Messages == 0 || h.Work.Blocked {
		return text.T(ctx, "channel.resume")
	}
	return text.N(ctx, "channel.resume_sending", h.Work.Messages)
}

// Channel is how the connection to LINE stands.
type Channel struct {
	Holds    []Hold
	Sweeps   []SweepLine
	Now      time.Time
	Location *time.Location
}

// SweepNames lists the recurring passes there are words for, as the store names them.
var SweepNames = []string{"reminders", "recovery"}

// SweepLine is a recurring pass with what it last did.
type SweepLine struct {
	Name    string
	RanAt   time.Time // zero if it never ran
	Handled int
	Failed  bool
	Every   time.Duration // its pace
}

// Seen tells one look of the page from another.
func (c Channel) Seen() string {
	seen := seenHolds(c.Holds)
	for _, s := range c.Sweeps {
		seen += fmt.Sprintf("-%d", s.RanAt.Unix())
	}
	return seen
}

// late reports whether a sweep has not run for twice its pace, and so seems not to run at all.
func (c Channel) late(s SweepLine) bool {
	return s.RanAt.IsZero() || c.Now.Sub(s.RanAt) > 2*s.Every
}
