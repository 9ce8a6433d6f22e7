package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// readDocument reads a publication as a teacher, by index, sees it.
func readDocument(t *testing.T, s *dbtest.School, p db.Published, teacher int) roster.Document {
	t.Helper()
	id := dbtest.Must(s.Store.Publication(t.Context(), p.PublicationID))(t).DocumentID
	return dbtest.Must(s.Store.Document(t.Context(), id, s.Teachers[teacher].ID))(t)
}

// confirmShown confirms what a teacher sees of a publication.
func confirmShown(t *testing.T, s *dbtest.School, p db.Published, teacher int) {
	t.Helper()
	d := readDocument(t, s, p, teacher)
	if err := s.Store.Confirm(t.Context(), d.Publication.DocumentID, s.Teachers[teacher].ID, d.Live.Hash()); err != nil {
		t.Fatal(err)
	}
}

// receiptOf finds a teacher's line among the receipts of a publication.
func receiptOf(t *testing.T, s *dbtest.School, p db.Published, teacher int) roster.TeacherReceipt {
	t.Helper()
	for _, r := range dbtest.Must(s.Store.Receipts(t.Context(), p.PublicationID))(t) {
		if r.Teacher.ID == s.Teachers[teacher].ID {
			return r
		}
	}
	t.Fatalf("teacher %d has no line", teacher)
	return roster.TeacherReceipt{}
}

func TestAReceiptGoesFromOpenedToConfirmedAndIsStaleOnceOnesOwnShiftsChange(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	other := s.Confirm(t, 1, 9, "17:00-21:30")
	first := s.Publish(t)
	state := func(want roster.ReceiptState) {
		t.Helper()
		if got := receiptOf(t, s, first, 0).State; got != want {
			t.Errorf("the receipt is %q, want %q", got, want)
		}
	}
	state(roster.ReceiptNone)

	opened := s.Store.Now()
	for range 2 {
		if err := s.Store.RecordOpening(ctx, first.PublicationID, s.Teachers[0].ID); err != nil {
			t.Fatal(err)
		}
		s.Clock.Advance(time.Minute)
	}
	state(roster.ReceiptOpened)
	if got := receiptOf(t, s, first, 0).Receipt.OpenedAt; !got.Equal(opened) {
		t.Errorf("it was opened at %s, want the first time %s", got, opened)
	}

	confirmShown(t, s, first, 0)
	state(roster.ReceiptConfirmed)
	if got := receiptOf(t, s, first, 1).State; got != roster.ReceiptNone {
		t.Errorf("the other teacher's receipt is %q", got)
	}

	other = dbtest.Must(s.Store.ChangeShift(ctx, other.ID, other.EditNumber, s.Edit(t, 1, 9, "18:00-21:30")))(t)
	state(roster.ReceiptConfirmed)
	x = dbtest.Must(s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "18:00-21:30")))(t)
	state(roster.ReceiptStale)
	dbtest.Must(s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "17:00-21:30")))(t)
	state(roster.ReceiptConfirmed)
}

func TestAConfirmationCountsForItsPublicationAndIsWhatTheNextChangesAreMeasuredFrom(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	first := s.Publish(t)
	confirmShown(t, s, first, 0)
	s.Confirm(t, 1, 9, "17:00-21:30")
	second := s.Publish(t)

	r := receiptOf(t, s, second, 0)
	if r.State != roster.ReceiptNone || r.Earlier == nil || r.Earlier.Number != 1 {
		t.Errorf("of the second publication it is %q, earlier %+v; want none, earlier the first", r.State, r.Earlier)
	}
	if d := readDocument(t, s, second, 0); d.LastConfirmed == nil || len(d.LastConfirmed.Changes) != 0 {
		t.Errorf("the last confirmation is %+v, want the first without changes", d.LastConfirmed)
	}

	dbtest.Must(s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "18:00-21:30")))(t)
	third := s.Publish(t)
	if r := receiptOf(t, s, third, 0); r.Earlier != nil {
		t.Errorf("an earlier confirmation still counts: %+v", r.Earlier)
	}
	d := readDocument(t, s, third, 0)
	if d.LastConfirmed == nil || d.LastConfirmed.Number != 1 || len(d.LastConfirmed.Changes) != 1 || d.LastConfirmed.Changes[0].Kind != roster.ChangeMoved {
		t.Errorf("changes are measured from %+v, want one change from the first publication", d.LastConfirmed)
	}
	confirmShown(t, s, third, 0)
	if d := readDocument(t, s, third, 0); d.LastConfirmed.Number != 3 || len(d.LastConfirmed.Changes) != 0 || !d.Receipt.Confirmed(d.Live) {
		t.Errorf("after confirming, the last confirmation is %+v", d.LastConfirmed)
	}
}

func TestOnlyWhatWasSeenOfTheNewestPublicationCanBeConfirmed(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	first := s.Publish(t)
	d := readDocument(t, s, first, 0)
	confirm := func(documentID string) error {
		return s.Store.Confirm(ctx, documentID, s.Teachers[0].ID, d.Live.Hash())
	}
	if err := confirm("unknown"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("an unknown document: %v", err)
	}
	dbtest.Must(s.Store.ChangeShift(ctx, x.ID, x.EditNumber, s.Edit(t, 0, 8, "18:00-21:30")))(t)
	if err := confirm(d.Publication.DocumentID); !errors.Is(err, db.ErrSheetChanged) {
		t.Errorf("shifts that changed since they were shown: %v", err)
	}
	s.Publish(t)
	d = readDocument(t, s, first, 0)
	if err := confirm(d.Publication.DocumentID); !errors.Is(err, db.ErrOutdated) {
		t.Errorf("an older publication: %v", err)
	}
	if r := receiptOf(t, s, first, 0); !r.Receipt.ConfirmedAt.IsZero() {
		t.Errorf("something was noted: %+v", r.Receipt)
	}
}

func TestReceiptsListTheTeachersOfTheTableAndWhoeverOpenedIt(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 2, 8, "17:00-21:30")
	s.Confirm(t, 0, 8, "17:00-21:30")
	s.Confirm(t, 0, 9, "17:00-21:30")
	p := s.Publish(t)
	if err := s.Store.RecordOpening(t.Context(), p.PublicationID, s.Teachers[1].ID); err != nil {
		t.Fatal(err)
	}
	all := dbtest.Must(s.Store.Receipts(t.Context(), p.PublicationID))(t)
	if len(all) != 3 || all[0].Teacher.ID != s.Teachers[0].ID || all[1].Teacher.ID != s.Teachers[2].ID || all[2].Teacher.ID != s.Teachers[1].ID {
		t.Fatalf("the lines are %+v", all)
	}
	if all[0].Shifts != 2 || all[2].Shifts != 0 || all[2].State != roster.ReceiptOpened {
		t.Errorf("the lines are %+v", all)
	}
	if _, err := s.Store.Receipts(t.Context(), 999); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("an unknown publication: %v", err)
	}
}
