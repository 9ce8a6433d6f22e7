package handlers

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/jobs/render"
)

// axeCore is axe-core 4.14.1, MPL-2.0, used by tests alone: testdata/axe-core-LICENSE.txt.
//
//go:embed testdata/axe.min.js
var axeCore string

// window is a browser's window on a site.
type window struct {
	*testSite
	t   *testing.T
	ctx context.Context
}

// chrome starts a browser for a test and returns how to open windows in it.
func chrome(t *testing.T) context.Context {
	t.Helper()
	path, err := render.FindChrome("")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "ja"))
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(release)
	browser, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(browser); err != nil {
		t.Fatal(err)
	}
	return browser
}

// open opens a window in a profile of its own.
func (ts *testSite) open(t *testing.T, browser context.Context, width, height int, scheme string) *window {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	// What is waited for comes in a second, or never.
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	w := &window{testSite: ts, t: t, ctx: ctx}
	w.do(chromedp.EmulateViewport(int64(width), int64(height)))
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
	return w
}

func (w *window) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, steps...); err != nil {
		w.t.Fatal(err)
	}
}

// ask evaluates an expression on the page, awaited.
func ask[T any](w *window, expression string) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.t.Fatalf("evaluate %.80s: %v", expression, err)
	}
	return v
}

// to goes to a path.
func (w *window) to(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.base + path))
}

// press clicks what a selector finds and waits for a page that has the words.
func (w *window) press(selector, words string) {
	w.t.Helper()
	w.do(chromedp.Click(chromedp.CSS(selector)))
	w.do(chromedp.WaitVisible(chromedp.Search(fmt.Sprintf(`//body[contains(., %q)]`, words))))
}

// enter signs the admin in.
func (w *window) enter() {
	w.t.Helper()
	w.to(w.site.auth.IssueSignInLink(w.admin.ID))
	w.do(chromedp.Click(chromedp.CSS("main button")), chromedp.WaitReady(chromedp.CSS(".bar-end")))
}

// fits checks that nothing makes the page wider than its window, and that a reader of any kind can use it.
func (w *window) fits(name string) {
	w.t.Helper()
	w.do(chromedp.Evaluate[chromedp.Void](`document.fonts.ready`, chromedp.EvalAwaitPromise))
	w.picture(name)
	if wide := ask[string](w, `(() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width) return "";
		return [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".visually-hidden,.skip,thead"))
			.map((e) => e.outerHTML.slice(0, 120)).join("\n");
	})()`); wide != "" {
		w.t.Errorf("%s is wider than its window:\n%s", name, wide)
	}
	w.do(chromedp.Evaluate[chromedp.Void](axeCore))
	found := ask[string](w, `axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations.map((v) => ({ id: v.id, help: v.help, at: v.nodes.map((n) => n.html.slice(0, 200) + " — " + n.failureSummary) }))))`)
	var violations []struct {
		ID, Help string
		At       []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		w.t.Fatal(err)
	}
	for _, v := range violations {
		w.t.Errorf("%s: %s: %s\n\t%s", name, v.ID, v.Help, strings.Join(v.At, "\n\t"))
	}
}

// picture keeps a picture of the page in the folder of -shots, if there is one.
func (w *window) picture(name string) {
	w.t.Helper()
	folder := flag.Lookup("shots").Value.String()
	if folder == "" {
		return
	}
	size := ask[[]float64](w, `[innerWidth, Math.max(innerHeight, document.documentElement.scrollHeight)]`)
	png, err := chromedp.Run(w.ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true), Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1}})
		return r.Data, err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600); err != nil {
		w.t.Fatal(err)
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
	browser := chrome(t)
	for _, c := range []struct {
		name          string
		width, height int
		scheme        string
		language      string
	}{
		{"desktop", 1280, 900, "light", "ja"},
		{"phone-dark", 360, 740, "dark", "ja"},
		{"zoomed", 320, 256, "light", "en"}, // 1280 × 1024 at 400 %
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ts.open(t, browser, c.width, c.height, c.scheme)
			w.to("/session/new?return=%2Fteachers")
			if c.language == "en" {
				w.press(`form[action="/language"] button`, "Sign in")
			}
			w.fits(c.name + "-sign-in")
			w.to("/nothing")
			w.fits(c.name + "-stranger-nothing")
			w.enter()
			for _, path := range []string{"/settings", "/groups", "/groups/new", "/groups/1/edit", "/classrooms", "/classrooms/1/edit",
				"/teachers", "/teachers/1/edit", "/teachers/2/edit", "/patterns", "/patterns/1/edit", "/nothing"} {
				w.to(path)
				w.fits(c.name + strings.ReplaceAll(path, "/", "-"))
			}
			w.to("/patterns/new")
			w.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("main form [required]").forEach((e) => e.removeAttribute("required"))`))
			w.press("main form .button-primary", map[string]string{"ja": "3か所を直してください。", "en": "3 things need your attention."}[c.language])
			w.fits(c.name + "-patterns-wrong")
			w.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details.menu").forEach((e) => { if (e.offsetParent) e.open = true; })`))
			w.fits(c.name + "-menus")
		})
	}
}

func TestPagesHelpWithAScript(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.fullSchool()
	w := ts.open(t, chrome(t), 1280, 900, "light")

	w.to("/session/new")
	w.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("password").value = "secret"`))
	w.do(chromedp.Click(chromedp.CSS("[data-reveals]")))
	if got := ask[string](w, `document.getElementById("password").type + document.querySelector("[data-reveals]").textContent`); got != "text隠す" {
		t.Errorf("after 表示する: %s", got)
	}

	w.enter()
	w.to("/groups/new")
	w.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("main form [required]").forEach((e) => e.removeAttribute("required"))`))
	w.press("main form .button-primary", "グループ名を入力してください。")
	if got := ask[string](w, `document.activeElement.id + " " + document.title`); got != "name エラー：新しいグループ - Shiftpost" {
		t.Errorf("a refused form has the focus on, and the title: %s", got)
	}

	w.to("/groups")
	w.do(chromedp.Click(chromedp.CSS(".bar-group summary")))
	if !ask[bool](w, `document.querySelector(".bar-group details").open`) {
		t.Error("the group switch does not open")
	}
	w.do(chromedp.Click(chromedp.CSS("h1")))
	if ask[bool](w, `document.querySelector(".bar-group details").open`) {
		t.Error("the group switch does not close when something else is touched")
	}

	// A form on its way stops its button, and is sent once however often it is pressed.
	w.to("/patterns/new")
	before := len(dbtest.Must(ts.store.Patterns(t.Context()))(t))
	if words := ask[string](w, `new Promise((resolve) => {
		document.getElementById("name").value = "早番";
		document.getElementById("letter").value = "早";
		document.getElementById("times").value = "10-15";
		const button = document.querySelector("main form .button-primary");
		button.click();
		setTimeout(() => { button.click(); resolve(button.textContent.trim() + button.getAttribute("aria-busy")); }, 0);
	})`); words != "保存しています…true" {
		t.Errorf("while it is on its way the button says %q", words)
	}
	w.do(chromedp.WaitVisible(chromedp.Search(`//*[@role="status"][contains(., "「早番」を追加しました。")]`)))
	if n := len(dbtest.Must(ts.store.Patterns(t.Context()))(t)); n != before+1 {
		t.Errorf("%d patterns were added, want 1", n-before)
	}
}

func TestPagesBreakNoRuleOfTheirContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	ts := newSite(t)
	ts.fullSchool()
	w := ts.open(t, chrome(t), 1280, 900, "light")
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
			Source: `window.broken = []; addEventListener("securitypolicyviolation", (e) => broken.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample)); addEventListener("error", (e) => broken.push(e.message));`})
		return err
	}))
	w.enter()
	for _, path := range []string{"/settings", "/groups", "/groups/new", "/teachers", "/patterns/1/edit", "/nothing"} {
		w.to(path)
		if broken := ask[[]string](w, `document.fonts.ready.then(() => broken)`); len(broken) > 0 {
			t.Errorf("%s: %s", path, strings.Join(broken, "\n"))
		}
		if status := ask[int](w, `performance.getEntriesByType("navigation")[0].responseStatus`); status != http.StatusOK && path != "/nothing" {
			t.Errorf("%s answers %d", path, status)
		}
	}
}
