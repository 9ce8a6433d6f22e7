package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func preview(t *testing.T, s *dbtest.School) db.Preview {
	t.Helper()
	return dbtest.Must(s.Store.Preview(t.Context(), s.Group.ID, s.Month))(t)
}

func publish(s *dbtest.School, t *testing.T, hash string) (db.Published, error) {
	return s.Store.Publish(t.Context(), db.PublishInput{GroupID: s.Group.ID, Month: s.Month, SheetHash: hash, AdminID: s.Admin.ID})
}

func TestASnapshotHoldsConfirmedShiftsAndNothingElse(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "17:00-21:30")
	before := preview(t, s).Sheet.Hash()
	s.Clock.Advance(time.Hour)
	s.Draft(t, 2, 9, "17:00-21:30")
	s.Confirm(t, 0, 40, "17:00-21:30") // in February
	p := preview(t, s)
	if p.Sheet.Hash() != before {
		t.Error("a draft or another month's shift changed what would be published")
	}
	if len(p.Drafts) != 1 || p.Drafts[0].Teacher != "髙橋 健太" {
		t.Errorf("the preview names the drafts %v, want the one of 髙橋 健太", p.Drafts)
	}
	s.Confirm(t, 2, 10, "22:00-25:00")
	p = preview(t, s)
	if p.Sheet.Hash() == before {
		t.Error("a confirmed shift changed nothing")
	}
	if len(p.NotLinked) != 1 || p.NotLinked[0].ID != s.Teachers[2].ID {
		t.Errorf("the preview names %v as not linked, want 髙橋 健太", p.NotLinked)
	}
	if got := p.Sheet.Snapshot; len(got.Classrooms) != 2 || got.Classrooms[0].Name != "駅前教室" || len(got.Teachers) != 2 || got.Teachers[1].Name != "髙橋 健太" {
		t.Errorf("the snapshot names %v and %v", got.Classrooms, got.Teachers)
	}
	if !p.Sheet.Snapshot.ChangedAt.Equal(s.Store.Now()) {
		t.Errorf("the newest change was at %s, want now", p.Sheet.Snapshot.ChangedAt)
	}
}

func TestPublishingFreezesTheMonthAndQueuesOneDelivery(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	out := s.Publish(t)
	if out.Number != 1 || out.DeliveryID == 0 {
		t.Fatalf("Publish = %+v, want version 1 with a delivery", out)
	}
	if _, err := s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted); err != nil {
		t.Fatal(err)
	}
	p := dbtest.Must(s.Store.Publication(t.Context(), out.PublicationID))(t)
	if len(p.Sheet.Snapshot.Shifts) != 1 || len(p.Pages) != 1 || len(p.DocumentID) < 26 {
		t.Errorf("the publication has %d shifts, %d pages and document id %q", len(p.Sheet.Snapshot.Shifts), len(p.Pages), p.DocumentID)
	}
	byDocument := dbtest.Must(s.Store.PublicationByDocument(t.Context(), p.DocumentID))(t)
	if byDocument.ID != p.ID {
		t.Errorf("the document id names publication %d, want %d", byDocument.ID, p.ID)
	}
	d := dbtest.Must(s.Store.Delivery(t.Context(), out.DeliveryID))(t)
	if d.State != roster.Queued || d.RetryKey == "" || d.Body != nil || d.Kind != roster.ShiftPublication {
		t.Errorf("the delivery is %s with key %q and body %q, want queued, a key and no body yet", d.State, d.RetryKey, d.Body)
	}
}

func TestAnUnchangedMonthIsNotPublishedTwice(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.Publish(t)
	hash := s.Render(t)
	if _, err := publish(s, t, hash); !errors.Is(err, db.ErrUnchanged) {
		t.Errorf("publishing the same month again answered %v, want ErrUnchanged", err)
	}
	e := s.Edit(t, 0, 8, "18:00-21:30")
	y := dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, e))(t)
	if preview(t, s).Unchanged {
		t.Error("a changed time counts as unchanged")
	}
	e.Times.Start -= 60
	if _, err := s.Store.ChangeShift(t.Context(), y.ID, y.EditNumber, e); err != nil {
		t.Fatal(err)
	}
	if !preview(t, s).Unchanged {
		t.Error("a change that was taken back counts as a change")
	}
	if all := dbtest.Must(s.Store.Publications(t.Context(), s.Group.ID, s.Month))(t); len(all) != 1 {
		t.Errorf("there are %d publications, want 1", len(all))
	}
}

func TestOnlyWhatWasShownIsPublished(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "17:00-21:30")
	shown := s.Render(t)
	s.Confirm(t, 1, 8, "17:00-21:30")
	if _, err := publish(s, t, shown); !errors.Is(err, db.ErrSheetChanged) {
		t.Errorf("publishing what is no longer so answered %v, want ErrSheetChanged", err)
	}
	if _, err := publish(s, t, preview(t, s).Sheet.Hash()); !errors.Is(err, db.ErrSheetNotRendered) {
		t.Errorf("publishing what was never drawn answered %v, want ErrSheetNotRendered", err)
	}
	if all := dbtest.Must(s.Store.Publications(t.Context(), s.Group.ID, s.Month))(t); len(all) != 0 {
		t.Errorf("a refused publish left %d publications", len(all))
	}
	if _, err := publish(s, t, s.Render(t)); err != nil {
		t.Errorf("publishing what is shown now: %v", err)
	}
}

func TestAnEmptyMonthIsNotPublished(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Draft(t, 0, 8, "17:00-21:30")
	if _, err := publish(s, t, preview(t, s).Sheet.Hash()); !errors.Is(err, db.ErrNothingToPublish) {
		t.Errorf("publishing a month of drafts answered %v, want ErrNothingToPublish", err)
	}
}

func TestAGroupWithoutLINEIsPublishedButNotAnnounced(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	other := dbtest.Must(s.Store.CreateGroup(t.Context(), db.GroupEdit{Name: "西口グループ", LeadMinutes: 120}))(t)
	room := dbtest.Must(s.Store.CreateClassroom(t.Context(), db.ClassroomEdit{GroupID: other.ID, Name: "西口教室", ShortName: "西口"}))(t)
	e := s.Edit(t, 0, 8, "17:00-21:30")
	e.ClassroomID = room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	s.Group = other
	out := s.Publish(t)
	if out.DeliveryID != 0 {
		t.Errorf("a delivery %d was made for a group without LINE", out.DeliveryID)
	}
	if !preview(t, s).Unchanged {
		t.Error("a publication without a delivery does not count as the newest one")
	}
}

func TestANewVersionSupersedesAnOlderOneThatStillWaits(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	s.Confirm(t, 0, 8, "17:00-21:30")
	first := s.Publish(t)
	s.Confirm(t, 1, 8, "17:00-21:30")
	second := s.Publish(t)
	if d := dbtest.Must(s.Store.Delivery(t.Context(), first.DeliveryID))(t); d.State != roster.Canceled || d.Code != roster.CodeSuperseded {
		t.Errorf("the older delivery is %s %s, want canceled SUPERSEDED", d.State, d.Code)
	}
	if second.Number != 2 {
		t.Errorf("the second publication is version %d", second.Number)
	}
	// It never left, so the group is told of a first version, without a count of changes.
	if p := preview(t, s); p.Sheet.Base != nil {
		t.Errorf("changes count from version %d, which nobody saw", p.Sheet.Base.Number)
	}
}
