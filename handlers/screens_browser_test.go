package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/render/browsertest"
)

// busy fills the school with a month in which everything happens: two versions of it were published, one of them after
// a fault, and it changed since.
func (s *schoolSite) busy() {
	s.Helper()
	ctx := s.Context()
	s.pattern()
	_, harbour, helper := s.elsewhere()
	dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[1].ID, Name: "マリア・フェルナンデス", NoticesOn: true}))(s)
	dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "勅使河原 桜子", NoticesOn: true}))(s)
	add := func(teacher roster.Teacher, room roster.Classroom, day int, times string, state roster.ShiftState) roster.Shift {
		s.Helper()
		e := s.Edit(s, 0, day, times)
		e.TeacherID, e.ClassroomID = teacher.ID, room.ID
		return dbtest.Must(s.Store.AddShift(ctx, e, state))(s)
	}
	var all []roster.Shift
	for i, t := range s.Teachers {
		for day := 4 + i; day < 31; day += 3 {
			all = append(all, add(t, s.Classrooms[i/2], day, []string{"17-2130", "16:30-20", "22-25"}[day%3], roster.ShiftConfirmed))
		}
	}
	add(s.Teachers[0], s.Classrooms[1], 8, "19-2130", roster.ShiftConfirmed)
	s.publish().wantStatus(http.StatusSeeOther)
	s.send1()
	change := func(x roster.Shift, times string) {
		s.Helper()
		e := db.ShiftEdit{TeacherID: x.TeacherID, ClassroomID: x.ClassroomID, Date: x.Date, Note: x.Note}
		e.Times = dbtest.Must(roster.ParseTimeRange(times))(s)
		dbtest.Must(s.Store.ChangeShift(ctx, x.ID, x.EditNumber, e))(s)
	}
	change(all[2], "18-2130")
	s.publish().wantStatus(http.StatusSeeOther)
	s.finish(fault)
	change(all[5], "13-18")
	change(all[12], "22-25")
	dbtest.Must(s.Store.MoveShift(ctx, all[8].ID, all[8].EditNumber, roster.ShiftDeleted))(s)
	add(helper, s.Classrooms[1], 16, "10-15", roster.ShiftConfirmed)
	add(s.Teachers[1], harbour, 12, "10-15", roster.ShiftConfirmed)
	add(s.Teachers[2], s.Classrooms[1], 31, "16:30-20", roster.ShiftDraft)
	add(s.Teachers[0], s.Classrooms[0], 14, "9-12", roster.ShiftDraft)
	add(s.Teachers[0], s.Classrooms[1], 14, "13-15", roster.ShiftConfirmed)
}

func TestWorkingScreensFitEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.busy()
	s.everyWindow(func(t *testing.T, w *window) {
		w.enter()
		w.suitsAt(s.month(), s.month()+"?day="+s.day(14), "/groups/1/months/2027-02", s.month()+"/shifts/new?teacher=1&date="+s.day(14), "/shifts/1/edit",
			"/groups/1/publications", "/publications/1", s.month()+"/publications/new?wait", "/groups/1/months/2027-02/publications/new",
			"/publications/2/receipts", "/publications/2/receipt-requests/new", "/deliveries", "/deliveries?state=canceled", "/deliveries/1", "/deliveries/2")
		w.to(s.month())
		w.Script(`[...document.querySelectorAll("a[data-form]")].find((e) => e.offsetParent && e.href.includes("/shifts/new?date")).click()`)
		w.Until(`document.getElementById("shift-dialog").open`)
		w.suits("dialog")
	})
}

// formIsReady waits until the form of a shift stands above the grid, htmx has taken hold of it and it has the focus: what
// is typed before that, as no person could, goes elsewhere.
func (w *window) formIsReady() {
	w.Helper()
	w.Until(`(() => {
		const panel = document.getElementById("shift-panel");
		return document.getElementById("shift-dialog").open && panel.querySelector("form") !== null && panel.contains(document.activeElement)
			&& !panel.classList.contains("htmx-swapping") && !panel.classList.contains("htmx-settling");
	})()`)
}

func TestCellOpensItsFormAboveTheGridAndHasTheFocusBack(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.pattern()
	other := s.Edit(t, 0, 20, "19-21:30")
	other.ClassroomID = s.Classrooms[1].ID
	dbtest.Must(s.Store.AddShift(t.Context(), other, roster.ShiftConfirmed))(t)
	w := s.open(t, 1280, 900)
	w.enter()
	w.to(s.month())
	const cell = `document.querySelector('[data-cell="1-2027-01-19"]')`

	// One cell is reached by Tab; the arrows walk from it.
	if n := browsertest.Value[int](w.Tab, `document.querySelectorAll('.month-table [data-cell][tabindex="0"]').length`); n != 1 {
		t.Errorf("%d cells are reached by Tab, want 1", n)
	}
	w.Script(`document.querySelector('[data-cell="2-2027-01-18"]').focus()`)
	w.Press(kb.ArrowRight + kb.ArrowUp)
	if got := browsertest.Value[string](w.Tab, `document.activeElement.dataset.cell`); got != "1-2027-01-19" {
		t.Fatalf("the arrows lead to %s", got)
	}
	w.Press(kb.End + kb.ArrowRight)
	if got := browsertest.Value[string](w.Tab, `document.activeElement.dataset.cell`); got != "1-2027-01-31" {
		t.Errorf("End leads to %s", got)
	}

	// Escape closes the form and gives the focus back.
	w.Script(cell + `.click()`)
	w.formIsReady()
	if got := browsertest.Value[string](w.Tab, `document.querySelectorAll(".cell-open, .head-open").length + " " + document.getElementById("shift-title").textContent`); got != "3 佐藤 花子 1/19(火)" {
		t.Errorf("the open cell is marked as %s", got)
	}
	w.Press(kb.Escape)
	w.Until(`!document.getElementById("shift-dialog").open && !document.querySelector(".cell-open")`)
	if got := browsertest.Value[string](w.Tab, `document.activeElement.dataset.cell`); got != "1-2027-01-19" {
		t.Errorf("after Escape the focus is on %s", got)
	}

	// A form that is opened before the browser tells that the last one was closed stays.
	w.Script(cell + `.click()`)
	w.formIsReady()
	w.Script(`{
		const dialog = document.getElementById("shift-dialog");
		dialog.addEventListener("close", () => { dialog.told = true; }, { once: true });
		dialog.close();
		dialog.showModal();
	}`)
	w.Until(`document.getElementById("shift-dialog").told`)
	if !browsertest.Value[bool](w.Tab, `document.querySelector("#shift-panel form") !== null`) {
		t.Error("the form is gone")
	}
	w.Press(kb.Escape)
	w.Until(`!document.getElementById("shift-dialog").open && !document.querySelector(".cell-open")`)

	// The pattern fills the times; typing other ones lets go of it.
	w.Script(cell + `.click()`)
	w.formIsReady()
	w.Script(`document.getElementById("pattern").click()`)
	if got := browsertest.Value[string](w.Tab, `document.getElementById("times").value`); got != "17:00–21:30" {
		t.Errorf("the pattern fills in %q", got)
	}
	w.Script(`{ const times = document.getElementById("times"); times.value = ""; times.focus(); }`)
	w.Press("25:70-26")
	if browsertest.Value[bool](w.Tab, `document.getElementById("pattern").checked`) {
		t.Error("the pattern stays chosen although other times were typed")
	}
	w.Script(`document.querySelector(".dialog-foot button").click()`)
	w.Sees("分は00から59までで入力してください。")
	w.formIsReady()
	w.Until(`document.activeElement.id === "times"`)

	// What was saved is in the grid, said, and the focus is on its cell.
	w.Type("#times", "10-12")
	w.Script(`document.querySelector(".dialog-foot button").click()`)
	w.Until(`!document.getElementById("shift-dialog").open && document.activeElement.dataset.cell === "1-2027-01-19"`)
	if got := browsertest.Value[string](w.Tab, `document.getElementById("month-said").textContent.trim() + " " + document.activeElement.querySelector(".visually-hidden").textContent`); got != "佐藤 花子さん 1/19(火) 10:00–12:00 を下書きで追加しました。 佐藤 花子 1月19日(火) 10:00–12:00 駅前教室 下書き" {
		t.Errorf("after saving: %s", got)
	}

	// Deleted, and taken back.
	w.Script(cell + `.click()`)
	w.formIsReady()
	w.Script(`document.querySelector("#shift-panel .button-danger").click()`)
	w.Has(".undo-bar button")
	if got := browsertest.Value[string](w.Tab, cell+`.getAttribute("aria-label")`); got != "佐藤 花子 1月19日(火) シフトを追加" {
		t.Errorf("after deleting the cell is %s", got)
	}
	w.ClickOn(".undo-bar button")
	w.Until(cell + `.textContent.trim().endsWith("下書き") && document.activeElement === ` + cell)

	// One more shift on a day that has one: the form lists it, and refuses an overlap at the field.
	w.Script(`document.querySelector('[data-cell="1-2027-01-20"]').click()`)
	w.formIsReady()
	w.Script(`document.querySelector("#shift-panel a[data-form]").click()`)
	w.Has("#shift-panel .shift-other")
	w.formIsReady()
	w.Type("#times", "17-2130")
	w.Script(`document.querySelector(".dialog-foot button").click()`)
	w.Sees("本町教室の 19:00–21:30 と重なります。19:00までにするか、本町教室のシフトを先に消してください。")
}

func TestDeliveryPageFollowsByItselfUntilItEnds(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.finish(fault)
	w := s.open(t, 1280, 900)
	w.enter()
	w.to(path)
	w.Sees("再送を待っています")
	w.Until(`document.querySelector("[data-countdown]").textContent.trim() === "1分58秒"`)
	s.Clock.Advance(2 * time.Minute)
	s.send1()
	w.Until(`document.querySelector("#delivery h2").textContent.startsWith("送信済")`)
	w.Until(`document.getElementById("delivery-said").textContent.startsWith("送信済")`)
	if browsertest.Value[bool](w.Tab, `document.getElementById("delivery").hasAttribute("hx-trigger")`) {
		t.Error("the page still asks")
	}
}

func TestPublishPageShowsThePicturesByItself(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	s.Confirm(t, 2, 13, "17-2130")
	w := s.open(t, 1280, 900)
	w.WatchErrors()
	w.enter()
	w.to(s.publishing())
	w.Sees("画像をつくっています…（2枚）")
	w.Has("#picture-1 + label + .picture img")
	w.Until(`document.querySelector(".picture img").naturalWidth === 2160`)
	w.ClickOn(`label[for="picture-2"]`)
	w.Has("#picture-2 + label + .picture img")
	w.Until(`!document.querySelector("#picture-1 + label + .picture img").checkVisibility()`)
	w.ClickOn(".action-bar .button-primary")
	w.Sees("グループへの公開の知らせ")
	if wrong := w.Errors(); len(wrong) > 0 {
		t.Errorf("errors on the way: %s", strings.Join(wrong, "\n"))
	}
	if n := s.drawn.Load(); n != 2 {
		t.Errorf("%d pictures were drawn, want 2", n)
	}
}
