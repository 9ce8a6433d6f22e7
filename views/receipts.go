package views

import (
	"context"
	"slices"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// Receipts is who opened and who confirmed a publication.
type Receipts struct {
	Publication roster.Publication
	Group       roster.Group
	Lines       []roster.TeacherReceipt
	Newer       int // the number of the newest publication of the month if there is a newer one, else 0
	// Requests are the newest receipt requests of the publication, by teacher.
	Requests map[int64]roster.Delivery
	Ask      ReceiptRequests
	Location *time.Location
}

// ReceiptRequests is what asking everybody who has still to confirm a publication would do.
type ReceiptRequests struct {
	Publication roster.Publication
	Asked       []AskedTeacher // who would get a message
	Cannot      []UnaskedTeacher
	Live        int         // who has one on its way
	Digest      string      // tells this plan from another
	Refusal     roster.Code // why nobody is asked; empty if there is no reason
	Changed     bool        // it is not what the admin was shown when they pressed
	Quota       roster.Quota
	Location    *time.Location
}

// AskedTeacher is who would be asked to confirm.
type AskedTeacher struct {
	Teacher roster.Teacher
	LastAt  time.Time // when they were last sent a request for this publication, or may have been; zero if never
	Unsure  bool      // nobody knows whether that one arrived
}

// UnaskedTeacher is who has still to confirm and cannot be asked by LINE.
type UnaskedTeacher struct {
	Name string
	Code roster.Code
}

// ReceiptRequestsPath is where the requests to confirm a publication are made.
func ReceiptRequestsPath(publicationID int64) string {
	return PublicationPath(publicationID) + "/receipt-requests"
}

// NewReceiptRequestsPath is the address of the page that asks before they are made.
func NewReceiptRequestsPath(publicationID int64) string {
	return ReceiptRequestsPath(publicationID) + "/new"
}

// possible reports whether anybody would be asked now.
func (r ReceiptRequests) possible() bool { return r.Refusal == "" && len(r.Asked) > 0 }

// ReceiptRequestQuestion asks before everybody who has still to confirm a publication is asked to do so.
func ReceiptRequestQuestion(ctx context.Context, r ReceiptRequests) Question {
	n := len(r.Asked)
	q := Question{
		Title: text.T(ctx, "receipts.request.nobody"), Action: ReceiptRequestsPath(r.Publication.ID), Working: text.T(ctx, "publications.resend.sending"),
		Fields: []HiddenField{{"shown", r.Digest}},
		No:     text.T(ctx, "receipts.request.back"), Back: ReceiptsPath(r.Publication.ID),
	}
	if r.Changed {
		q.Warning = text.T(ctx, "receipts.request.changed")
	}
	if r.Refusal != "" {
		q.Facts = []string{text.T(ctx, "receipts.request.refused."+string(r.Refusal))}
		return q
	}
	if n > 0 {
		q.Title, q.No = text.N(ctx, "receipts.request.title", n), text.T(ctx, "retries.no")
		q.Yes = text.N(ctx, "receipts.request.yes", n, "Messages", text.N(ctx, "publications.messages", n))
		for _, a := range r.Asked {
			q.People = append(q.People, a.Teacher)
		}
		q.Facts = append(q.Facts, text.T(ctx, "receipts.request.what"))
		q.Facts = append(q.Facts, r.askedBefore(ctx, "receipts.request.again", false)...)
		q.Facts = append(q.Facts, r.askedBefore(ctx, "receipts.request.unsure", true)...)
		q.Facts = append(q.Facts, costFacts(ctx, r.Quota, n)...)
	}
	if r.Live > 0 {
		q.Facts = append(q.Facts, text.N(ctx, "receipts.request.live", r.Live))
	}
	for _, u := range r.Cannot {
		q.Facts = append(q.Facts, text.T(ctx, "receipts.request.cannot", "Name", u.Name, "Reason", cannotReason(ctx, u.Code)))
	}
	q.Facts = append(q.Facts, text.T(ctx, "receipts.request.left_out"))
	return q
}

// askedBefore says, if any were, how many were asked before and when last: those whose request may have arrived, or those
// whose did.
func (r ReceiptRequests) askedBefore(ctx context.Context, key string, unsure bool) []string {
	n := 0
	var last time.Time
	for _, a := range r.Asked {
		if a.LastAt.IsZero() || a.Unsure != unsure {
			continue
		}
		n++
		if a.LastAt.After(last) {
			last = a.LastAt
		}
	}
	if n == 0 {
		return nil
	}
	return []string{text.N(ctx, key, n, "Moment", text.Moment(ctx, last, r.Location))}
}

// ReceiptsPath is the address of the receipts of a publication.
func ReceiptsPath(publicationID int64) string { return PublicationPath(publicationID) + "/receipts" }

// with lists the lines in any of some states, in their order.
func (r Receipts) with(states ...roster.ReceiptState) []roster.TeacherReceipt {
	return slices.DeleteFunc(slices.Clone(r.Lines), func(l roster.TeacherReceipt) bool { return !slices.Contains(states, l.State) })
}

// missing lists who has still to confirm: first those whose shifts changed, then who did not open it, then who did.
func (r Receipts) missing() []roster.TeacherReceipt {
	return slices.Concat(r.with(roster.ReceiptStale), r.with(roster.ReceiptNone), r.with(roster.ReceiptOpened))
}

func (r Receipts) confirmed() []roster.TeacherReceipt { return r.with(roster.ReceiptConfirmed) }

// openedCount is how many opened it, confirmed or not.
func (r Receipts) openedCount() int { return len(r.Lines) - len(r.with(roster.ReceiptNone)) }

// receiptMark is the look of a state.
func receiptMark(s roster.ReceiptState) (ui.Kind, ui.IconName) {
	switch s {
	case roster.ReceiptConfirmed:
		return ui.Done, ui.IconDone
	case roster.ReceiptOpened:
		return ui.Accent, ui.IconEye
	case roster.ReceiptStale:
		return ui.Attention, ui.IconWarning
	}
	return ui.Plain, ui.IconPending
}
