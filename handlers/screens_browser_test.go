package handlers

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
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

// shows waits until the page has the words.
func (w *window) shows(words string) {
	w.t.Helper()
	w.do(chromedp.WaitVisible(chromedp.Search(`//body[contains(., "` + words + `")]`)))
}

// until waits for an expression to be true.
func (w *window) until(expression string) {
	w.t.Helper()
	w.do(chromedp.Poll[chromedp.Void](expression))
}

func TestWorkingScreensFitEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.busy()
	browser := chrome(t)
	for _, c := range []struct {
		name          string
		width, height int
		scheme        string
		language      string
	}{
		{"desktop", 1280, 900, "light", "ja"},
		{"desktop-en-dark", 1280, 900, "dark", "en"},
		{"phone-dark", 360, 740, "dark", "ja"},
		{"zoomed", 320, 256, "light", "en"}, // 1280 × 1024 at 400 %
	} {
		t.Run(c.name, func(t *testing.T) {
			w := s.open(t, browser, c.width, c.height, c.scheme)
			w.to("/session/new")
			if c.language == "en" {
				w.press(`form[action="/language"] button`, "Sign in")
			}
			w.enter()
			for _, path := range []string{
				s.month(), s.month() + "?day=" + s.day(14), "/groups/1/months/2027-02", s.month() + "/shifts/new?teacher=1&date=" + s.day(14), "/shifts/1/edit",
				"/groups/1/publications", "/publications/1", s.month() + "/publications/new?wait", "/groups/1/months/2027-02/publications/new",
				"/deliveries", "/deliveries?state=canceled", "/deliveries/1", "/deliveries/2",
			} {
				w.to(path)
				w.fits(c.name + strings.NewReplacer("/", "-", "?", "-", "&", "-", "=", "-").Replace(path))
			}
			w.to(s.month())
			w.do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("a[data-form]")].find((e) => e.offsetParent && e.href.includes("/shifts/new?date")).click()`))
			w.until(`document.getElementById("shift-dialog").open`)
			w.fits(c.name + "-dialog")
		})
	}
}

func TestCellOpensItsFormAboveTheGridAndHasTheFocusBack(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.pattern()
	other := s.Edit(t, 0, 20, "19-21:30")
	other.ClassroomID = s.Classrooms[1].ID
	dbtest.Must(s.Store.AddShift(t.Context(), other, roster.ShiftConfirmed))(t)
	w := s.open(t, chrome(t), 1280, 900, "light")
	w.enter()
	w.to(s.month())
	const cell = `document.querySelector('[data-cell="1-2027-01-19"]')`

	// One cell is reached by Tab; the arrows walk from it.
	if n := ask[int](w, `document.querySelectorAll('.month-table [data-cell][tabindex="0"]').length`); n != 1 {
		t.Errorf("%d cells are reached by Tab, want 1", n)
	}
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-cell="2-2027-01-18"]').focus()`))
	w.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowUp))
	if got := ask[string](w, `document.activeElement.dataset.cell`); got != "1-2027-01-19" {
		t.Fatalf("the arrows lead to %s", got)
	}
	w.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.ArrowRight))
	if got := ask[string](w, `document.activeElement.dataset.cell`); got != "1-2027-01-31" {
		t.Errorf("End leads to %s", got)
	}

	// Escape closes the form and gives the focus back.
	w.do(chromedp.Evaluate[chromedp.Void](cell+`.click()`), chromedp.WaitVisible(chromedp.CSS("#shift-panel form")))
	if got := ask[string](w, `document.querySelectorAll(".cell-open, .head-open").length + " " + document.getElementById("shift-title").textContent`); got != "3 佐藤 花子 1/19(火)" {
		t.Errorf("the open cell is marked as %s", got)
	}
	w.do(chromedp.KeyEvent(kb.Escape))
	w.until(`!document.getElementById("shift-dialog").open`)
	if got := ask[string](w, `document.activeElement.dataset.cell + document.querySelectorAll(".cell-open").length`); got != "1-2027-01-190" {
		t.Errorf("after Escape the focus is on %s", got)
	}

	// The pattern fills the times; typing other ones lets go of it.
	w.do(chromedp.Evaluate[chromedp.Void](cell+`.click()`), chromedp.WaitVisible(chromedp.CSS("#shift-panel form")))
	w.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("pattern").click()`))
	if got := ask[string](w, `document.getElementById("times").value`); got != "17:00–21:30" {
		t.Errorf("the pattern fills in %q", got)
	}
	w.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("times").value = ""`), chromedp.SendKeys(chromedp.CSS("#times"), "25:70-26"))
	if ask[bool](w, `document.getElementById("pattern").checked`) {
		t.Error("the pattern stays chosen although other times were typed")
	}
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".dialog-foot button").click()`))
	w.shows("分は00から59までで入力してください。")
	w.until(`document.activeElement.id === "times"`)

	// What was saved is in the grid, said, and the focus is on its cell.
	w.do(chromedp.SetValue(chromedp.CSS("#times"), "10-12"), chromedp.Evaluate[chromedp.Void](`document.querySelector(".dialog-foot button").click()`))
	w.until(`!document.getElementById("shift-dialog").open && document.activeElement.dataset.cell === "1-2027-01-19"`)
	if got := ask[string](w, `document.getElementById("month-said").textContent.trim() + " " + document.activeElement.querySelector(".visually-hidden").textContent`); got != "佐藤 花子さん 1/19(火) 10:00–12:00 を下書きで追加しました。 佐藤 花子 1月19日(火) 10:00–12:00 駅前教室 下書き" {
		t.Errorf("after saving: %s", got)
	}

	// Deleted, and taken back.
	w.do(chromedp.Evaluate[chromedp.Void](cell+`.click()`), chromedp.WaitVisible(chromedp.CSS("#shift-panel .button-danger")))
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#shift-panel .button-danger").click()`), chromedp.WaitVisible(chromedp.CSS(".undo-bar button")))
	if got := ask[string](w, cell+`.getAttribute("aria-label")`); got != "佐藤 花子 1月19日(火) シフトを追加" {
		t.Errorf("after deleting the cell is %s", got)
	}
	w.do(chromedp.Click(chromedp.CSS(".undo-bar button")))
	w.until(cell + `.textContent.trim().endsWith("下書き") && document.activeElement === ` + cell)

	// One more shift on a day that has one: the form lists it, and refuses an overlap at the field.
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-cell="1-2027-01-20"]').click()`), chromedp.WaitVisible(chromedp.CSS("#shift-panel form")))
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#shift-panel a[data-form]").click()`))
	w.do(chromedp.WaitVisible(chromedp.CSS("#shift-panel .shift-other")))
	w.do(chromedp.SetValue(chromedp.CSS("#times"), "17-2130"), chromedp.Evaluate[chromedp.Void](`document.querySelector(".dialog-foot button").click()`))
	w.shows("本町教室の 19:00–21:30 と重なります。19:00までにするか、本町教室のシフトを先に消してください。")
}

func TestDeliveryPageFollowsByItselfUntilItEnds(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.finish(fault)
	w := s.open(t, chrome(t), 1280, 900, "light")
	w.enter()
	w.to(path)
	w.shows("再送を待っています")
	w.until(`document.querySelector("[data-countdown]").textContent.trim() === "1分58秒"`)
	s.Clock.Advance(2 * time.Minute)
	s.send1()
	w.until(`document.querySelector("#delivery h2").textContent.startsWith("送信済")`)
	w.until(`document.getElementById("delivery-said").textContent.startsWith("送信済")`)
	if ask[bool](w, `document.getElementById("delivery").hasAttribute("hx-trigger")`) {
		t.Error("the page still asks")
	}
}

func TestPublishPageShowsThePicturesByItself(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	s.Confirm(t, 2, 13, "17-2130")
	w := s.open(t, chrome(t), 1280, 900, "light")
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `window.broken = []; addEventListener("securitypolicyviolation", (e) => broken.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample)); addEventListener("error", (e) => broken.push(e.message));`})
		return err
	}))
	w.enter()
	w.to(s.publishing())
	w.shows("画像をつくっています…（2枚）")
	w.do(chromedp.WaitVisible(chromedp.CSS("#picture-1 + label + .picture img")))
	w.until(`document.querySelector(".picture img").naturalWidth === 2160`)
	w.do(chromedp.Click(chromedp.CSS(`label[for="picture-2"]`)), chromedp.WaitVisible(chromedp.CSS("#picture-2 + label + .picture img")), chromedp.WaitNotVisible(chromedp.CSS("#picture-1 + label + .picture img")))
	w.press(".action-bar .button-primary", "グループへの公開の知らせ")
	if broken := ask[[]string](w, `broken`); len(broken) > 0 {
		t.Errorf("errors on the way: %s", strings.Join(broken, "\n"))
	}
	if n := s.drawn.Load(); n != 2 {
		t.Errorf("%d pictures were drawn, want 2", n)
	}
}
