package views

import (
	"slices"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/ui"
)

// Receipts is who opened and who confirmed a publication.
type Receipts struct {
	Publication roster.Publication
	Group       roster.Group
	Lines       []roster.TeacherReceipt
	Newer       int // the number of the newest publication of the month if there is a newer one, else 0
	Location    *time.Location
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
