package handlers

import (
	"net/http"
	"strings"
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/jobs/render/browsertest"
)

// window is a browser's window on a site, in a profile of its own.
type window struct {
	*browsertest.Tab
	*testSite
	name    string // begins the names of its pictures
	english bool
}

// open opens a window of that size in CSS pixels.
func (ts *testSite) open(t *testing.T, width, height int) *window {
	t.Helper()
	return &window{Tab: browsertest.Start(t).Tab(t, width, height), testSite: ts}
}

// everyWindow opens the page to sign in, in a window of each kind at the same time, and goes on with look.
func (ts *testSite) everyWindow(look func(t *testing.T, w *window)) {
	browsertest.Start(ts.T) // so that one Chrome lasts for all
	for _, c := range []struct {
		name          string
		width, height int
		dark, english bool
	}{
		{"desktop", 1280, 900, false, false},
		{"desktop-en-dark", 1280, 900, true, true},
		{"phone-dark", 360, 740, true, false},
		{"zoomed", 320, 256, false, true}, // 1280 × 1024 at 400 %
	} {
		ts.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := ts.open(t, c.width, c.height)
			w.name, w.english = c.name, c.english
			if c.dark {
				w.Dark()
			}
			w.to("/session/new")
			if c.english {
				w.ClickOn(`form[action="/language"] button`)
				w.Sees("Sign in")
			}
			look(t, w)
		})
	}
}

// to goes to a path.
func (w *window) to(path string) {
	w.Helper()
	w.Open(w.base + path)
}

// enter signs the admin in.
func (w *window) enter() {
	w.Helper()
	w.to(w.site.auth.IssueSignInLink(w.admin.ID))
	w.ClickOn("main button")
	w.Until(`document.querySelector(".bar-end")`) // which phones do not show
}

// suits checks that nothing makes the page wider than its window, and that a reader of any kind can use it.
func (w *window) suits(name string) {
	w.Helper()
	name = w.name + "-" + strings.NewReplacer("/", "-", "?", "-", "&", "-", "=", "-").Replace(strings.TrimPrefix(name, "/"))
	name = strings.TrimSuffix(name, "-")
	w.Fits(name)
	w.Accessible(name)
}

// suitsAt goes to each path and checks that the page suits.
func (w *window) suitsAt(paths ...string) {
	w.Helper()
	for _, path := range paths {
		w.to(path)
		w.suits(path)
	}
}

// fullSchool is a school with several of everything, long names and archived ones.
func (ts *testSite) fullSchool() {
	ts.Helper()
	sc := ts.school()
	ctx := ts.Context()
	dbtest.Must(ts.store.CreateGroup(ctx, db.GroupEdit{Name: "とても長い名前の南口・中央・西口グループ", LeadMinutes: 135}))(ts)
	gone := dbtest.Must(ts.store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: sc.classroom.ID, Name: "退職 済子"}))(ts)
	dbtest.Must(ts.store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: sc.classroom.ID, Name: "マリア・フェルナンデス", NoticesOn: true}))(ts)
	linked := dbtest.Must(ts.store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: sc.classroom.ID, Name: "𠮷川 隆", NoticesOn: true}))(ts)
	if err := ts.store.LinkTeacher(ctx, linked.ID, dbtest.LINEUserID(1)); err != nil {
		ts.Fatal(err)
	}
	if err := ts.store.LinkGroup(ctx, sc.group.ID, dbtest.LINEGroupID(1), "みほん塾 講師連絡", 14); err != nil {
		ts.Fatal(err)
	}
	if err := ts.store.ArchiveTeacher(ctx, gone.ID); err != nil {
		ts.Fatal(err)
	}
}

func TestPagesFitEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.fullSchool()
	ts.everyWindow(func(t *testing.T, w *window) {
		w.to("/session/new?return=%2Fteachers")
		w.suits("sign-in")
		w.to("/nothing")
		w.suits("stranger-nothing")
		w.enter()
		w.suitsAt("/settings", "/groups", "/groups/new", "/groups/1/edit", "/classrooms", "/classrooms/1/edit",
			"/teachers", "/teachers/1/edit", "/teachers/2/edit", "/patterns", "/patterns/1/edit", "/nothing")
		w.to("/patterns/new")
		w.Script(`document.querySelectorAll("main form [required]").forEach((e) => e.removeAttribute("required"))`)
		w.ClickOn("main form .button-primary")
		w.Sees(map[bool]string{false: "3か所を直してください。", true: "3 things need your attention."}[w.english])
		w.suits("patterns-wrong")
		w.Script(`document.querySelectorAll("details.menu").forEach((e) => { if (e.offsetParent) e.open = true; })`)
		w.suits("menus")
	})
}

func TestPagesHelpWithAScript(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.fullSchool()
	w := ts.open(t, 1280, 900)

	w.to("/session/new")
	w.Script(`document.getElementById("password").value = "secret"`)
	w.ClickOn("[data-reveals]")
	if got := browsertest.Value[string](w.Tab, `document.getElementById("password").type + document.querySelector("[data-reveals]").textContent`); got != "text隠す" {
		t.Errorf("after 表示する: %s", got)
	}

	w.enter()
	w.to("/groups/new")
	w.Script(`document.querySelectorAll("main form [required]").forEach((e) => e.removeAttribute("required"))`)
	w.ClickOn("main form .button-primary")
	w.Sees("グループ名を入力してください。")
	if got := browsertest.Value[string](w.Tab, `document.activeElement.id + " " + document.title`); got != "name エラー：新しいグループ - Shiftpost" {
		t.Errorf("a refused form has the focus on, and the title: %s", got)
	}

	w.to("/groups")
	w.ClickOn(".bar-group summary")
	if !browsertest.Value[bool](w.Tab, `document.querySelector(".bar-group details").open`) {
		t.Error("the group switch does not open")
	}
	w.ClickOn("h1")
	if browsertest.Value[bool](w.Tab, `document.querySelector(".bar-group details").open`) {
		t.Error("the group switch does not close when something else is touched")
	}

	// A form on its way stops its button, and is sent once however often it is pressed.
	w.to("/patterns/new")
	before := len(dbtest.Must(ts.store.Patterns(t.Context()))(t))
	if words := browsertest.Value[string](w.Tab, `new Promise((resolve) => {
		document.getElementById("name").value = "早番";
		document.getElementById("letter").value = "早";
		document.getElementById("times").value = "10-15";
		const button = document.querySelector("main form .button-primary");
		button.click();
		setTimeout(() => { button.click(); resolve(button.textContent.trim() + button.getAttribute("aria-busy")); }, 0);
	})`); words != "保存しています…true" {
		t.Errorf("while it is on its way the button says %q", words)
	}
	w.Until(`[...document.querySelectorAll('[role="status"]')].some((e) => e.checkVisibility() && e.textContent.includes("「早番」を追加しました。"))`)
	if n := len(dbtest.Must(ts.store.Patterns(t.Context()))(t)); n != before+1 {
		t.Errorf("%d patterns were added, want 1", n-before)
	}
}

func TestPagesBreakNoRuleOfTheirContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.fullSchool()
	w := ts.open(t, 1280, 900)
	w.WatchErrors()
	w.enter()
	for _, path := range []string{"/settings", "/groups", "/groups/new", "/teachers", "/patterns/1/edit", "/nothing"} {
		w.to(path)
		if wrong := w.Errors(); len(wrong) > 0 {
			t.Errorf("%s: %s", path, strings.Join(wrong, "\n"))
		}
		if status := browsertest.Value[int](w.Tab, `performance.getEntriesByType("navigation")[0].responseStatus`); status != http.StatusOK && path != "/nothing" {
			t.Errorf("%s answers %d", path, status)
		}
	}
}
