package handlers

import (
	"net/http"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestBarCountsFailedDeliveriesAndNothingElse(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	sc := ts.school()
	if err := ts.store.LinkGroup(t.Context(), sc.group.ID, dbtest.LINEGroupID(1), "みほん塾 講師連絡", 14); err != nil {
		t.Fatal(err)
	}
	school := dbtest.School{
		Store: ts.store, Admin: ts.admin, Group: sc.group, Classrooms: []roster.Classroom{sc.classroom}, Teachers: []roster.Teacher{sc.teacher},
		Month: roster.Month{Year: 2027, Month: time.January},
	}
	school.Confirm(t, 0, 20, "17:00-21:30")
	school.Publish(t)
	ts.signIn()
	ts.get("/settings").wantStatus(http.StatusOK).lacks(`class="count"`, "失敗した配信")

	try := dbtest.Must(dbtest.ClaimTry(t.Context(), ts.store))(t)
	if err := ts.store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Refused, Code: "HTTP_400", Status: 400}); err != nil {
		t.Fatal(err)
	}
	ts.get("/settings").contains(`<span class="count" aria-hidden="true">1</span>`, "失敗した配信 1件")
	ts.get("/settings", "Accept-Language", "en").contains("1 failed delivery")
}
