package handlers_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render"
)

// shots is a folder for a picture of every page that the browser tests look at: go test ./handlers -run Browser -shots DIR
var shots = flag.String("shots", "", "folder for pictures of the pages that browser tests see")

// axe is axe-core 4.14.1, MPL-2.0, used by these tests alone: testdata/axe-core-LICENSE.txt.
//
//go:embed testdata/axe.min.js
var axe string

// startChrome starts the browser that the tests share; each opens a profile of its own in it.
func startChrome(t *testing.T) context.Context {
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

// tab is a tab of a phone's browser.
type tab struct {
	*viewerSite
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	trips int // navigations to LINE's login, or to LINE's door to log in inside
}

// phone opens a tab in a profile of its own, 390 px wide. Script, if not empty, runs before any page's own.
func (v *viewerSite) phone(t *testing.T, browser context.Context, script string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{viewerSite: v, t: t, ctx: ctx}
	requests := chromedp.Events(ctx, network.RequestWillBeSent)
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			if e.Type == network.ResourceTypeDocument && e.Request.Method == http.MethodGet && b.isTrip(e.Request.URL, e.DocumentURL) {
				b.mu.Lock()
				b.trips++
				b.mu.Unlock()
			}
		}
	}()
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(2)))
	if script != "" {
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
			return err
		}))
	}
	return b
}

func (b *tab) isTrip(address, _ string) bool {
	return strings.HasPrefix(address, b.sim.BaseURL()+"/oauth2/v2.1/authorize") || strings.HasPrefix(address, b.sim.LIFFBaseURL()+"/"+b.sim.Login().LIFFID)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval runs an expression on the page and returns its value, awaited.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("evaluate %.80s: %v", expression, err)
	}
	return v
}

// sees waits until the page shows some words. It sleeps nowhere: the page itself tells, and a page that is left for
// another is asked anew.
func (b *tab) sees(words string) *tab {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	expression := `new Promise((resolve) => {
		const words = ` + strconv.Quote(words) + `;
		const seen = () => document.body && !("used" in document.body.dataset) && document.body.innerText.includes(words);
		if (seen()) return resolve(true);
		const watch = new MutationObserver(() => { if (seen()) { watch.disconnect(); resolve(true); } });
		watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
		document.addEventListener("DOMContentLoaded", () => { if (seen()) resolve(true); });
	})`
	for {
		seen, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression, chromedp.EvalAwaitPromise))
		if seen {
			return b
		}
		if ctx.Err() != nil {
			text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
			b.t.Fatalf("the page never showed %q: %v\n%s", words, err, text)
		}
	}
}

func (b *tab) click(selector string) *tab {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
	return b
}

// opensOutside follows the LIFF URL as an ordinary browser would.
func (b *tab) opensOutside(documentID string) *tab {
	b.t.Helper()
	b.do(chromedp.Navigate(b.sim.LIFFBaseURL() + "/" + b.sim.Login().LIFFID + "/documents/" + documentID))
	b.forget(1)
	return b
}

// opensInside taps the button of the message in the chat of a LINE user.
func (b *tab) opensInside(lineUserID, documentID string) *tab {
	b.t.Helper()
	uri := b.sim.LIFFBaseURL() + "/" + b.sim.Login().LIFFID + "/documents/" + documentID
	b.do(chromedp.Navigate(b.sim.BaseURL() + "/sim/open?" + url.Values{"as": {lineUserID}, "uri": {uri}}.Encode()))
	return b
}

// logsInAs chooses a person on LINE's login page.
func (b *tab) logsInAs(lineUserID string) *tab {
	b.t.Helper()
	b.sees("LINEでログイン")
	// The next login page must not be taken for this one.
	b.do(chromedp.Evaluate[chromedp.Void](`document.body.dataset.used = ""`))
	return b.click(`button[value="` + lineUserID + `"]`)
}

// forget takes trips that the reader made off the count.
func (b *tab) forget(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trips -= n
}

// tripped checks how often the page went to LINE's login by itself so far.
func (b *tab) tripped(want int) *tab {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trips != want {
		b.t.Errorf("the page went to LINE's login %d times, want %d", b.trips, want)
	}
	return b
}

// wakes lets the tab come back after so much time without being loaded.
func (b *tab) wakes(after time.Duration) *tab {
	b.t.Helper()
	b.Clock.Advance(after)
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const now = Date.now; Date.now = () => now() + %d; document.dispatchEvent(new Event("visibilitychange")) }`, after.Milliseconds())))
	return b
}

func (b *tab) reloads() *tab {
	b.t.Helper()
	b.do(chromedp.Reload())
	return b
}

// isAccessible runs axe-core on the page as it is.
func (b *tab) isAccessible(name string) *tab {
	b.t.Helper()
	b.shot(name) // axe moves what scrolls
	b.do(chromedp.Evaluate[chromedp.Void](axe))
	found := eval[string](b, `axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations.map((v) => ({ id: v.id, help: v.help, at: v.nodes.map((n) => n.html.slice(0, 200) + " — " + n.failureSummary) }))))`)
	var violations []struct {
		ID, Help string
		At       []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("%s: %s: %s\n\t%s", name, v.ID, v.Help, strings.Join(v.At, "\n\t"))
	}
	return b
}

// shot keeps a picture of the whole page if somebody asked for pictures.
func (b *tab) shot(name string) *tab {
	b.t.Helper()
	if *shots == "" {
		return b
	}
	b.do(chromedp.Evaluate[chromedp.Void](`document.fonts.ready`, chromedp.EvalAwaitPromise))
	size := eval[[]float64](b, `[innerWidth, document.documentElement.scrollHeight]`)
	png, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true),
			Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1}})
		return r.Data, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// fits checks that the page is not wider than its window.
func (b *tab) fits(name string) *tab {
	b.t.Helper()
	if w := eval[[]int](b, `[document.documentElement.scrollWidth, document.documentElement.clientWidth]`); w[0] > w[1] {
		b.t.Errorf("%s: the page is %d px wide in a window of %d", name, w[0], w[1])
	}
	return b
}

// blocks makes an address unreachable for the tab, or lets it be reached again.
func (b *tab) blocks(address string, block bool) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: address, Block: block}}})
		return err
	}))
}

func (b *tab) dark() *tab {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		return err
	}))
	return b
}

func (b *tab) window(width, height int64) *tab {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulateScale(2)))
	return b
}

func TestTheViewerInABrowser(t *testing.T) {
	t.Parallel()
	browser := startChrome(t)
	for _, story := range []struct {
		name string
		tell func(*testing.T, *viewerSite, context.Context)
	}{
		{"on the first visit outside LINE a teacher logs in once", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.phone(t, browser, "").opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月").tripped(1)
		}},
		{"on the second visit nobody logs in and LINE is not asked", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月")
			b.opensOutside(v.first.DocumentID).sees("わたしの1月").reloads().sees("わたしの1月").tripped(1)
			if n := v.verifications(); n != 1 {
				t.Errorf("LINE was asked %d times", n)
			}
		}},
		{"inside LINE nobody logs in", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("わたしの1月").sees("佐藤 花子さん").tripped(0)
		}},
		{"an expired token inside LINE is renewed by opening the page anew", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			v.Clock.Advance(13 * time.Hour)
			b.reloads().sees("1月12日(火)").tripped(1)
			// The guard was taken down, so the next time works as well.
			v.Clock.Advance(13 * time.Hour)
			b.reloads().sees("1月12日(火)").tripped(2)
		}},
		{"an expired token outside LINE is renewed by one login", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月")
			v.Clock.Advance(13 * time.Hour)
			b.opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月").tripped(2)
		}},
		{"a page that sleeps in LINE over night renews itself when it wakes", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("今日 1月8日").tripped(0)
			b.wakes(13 * time.Hour).sees("これから 1件").sees("わたしの1月").tripped(1)
		}},
		{"a page that sleeps for an hour shows what is so now, without a login", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("あと2時間28分")
			v.Confirm(t, 0, 20, "9:00-12:00")
			b.wakes(time.Hour).sees("公開後に追加").sees("あと1時間28分").tripped(0)
		}},
		{"a stranger is told whom to ask", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensOutside(v.first.DocumentID).logsInAs(stranger).sees("教室長に招待を頼んでください").tripped(1)
			b.isAccessible("stranger").fits("stranger")
			if text := eval[string](b, `document.body.innerText`); strings.Contains(text, "佐藤") || strings.Contains(text, "駅前") {
				t.Errorf("a stranger reads %s", text)
			}
			v.phone(t, browser, "").opensInside(stranger, v.first.DocumentID).sees("教室長に招待を頼んでください").tripped(0)
		}},
		{"a teacher who left while looking is a stranger at the next look", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			if err := v.Store.UnlinkTeacher(t.Context(), v.Teachers[0].ID); err != nil {
				t.Fatal(err)
			}
			b.wakes(10 * time.Minute).sees("教室長に招待を頼んでください").tripped(0)
			b.opensInside(hanako, v.first.DocumentID).sees("教室長に招待を頼んでください").tripped(0)
		}},
		{"while LINE cannot be asked the page says so and can be tried again", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "verify", Status: 500, Count: 1})
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("LINEに確かめられませんでした。少し待って、もう一度お試しください。")
			b.isAccessible("line-down").fits("line-down")
			b.click("[data-again]").sees("わたしの1月").tripped(0)
		}},
		{"a LINE that always says expired does not send a teacher round and round", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.fault(t, linesim.Fault{Kind: linesim.FaultExpired, Endpoint: "verify"})
			b := v.phone(t, browser, "").opensOutside(v.first.DocumentID).logsInAs(hanako).logsInAs(hanako).sees("もう一度、LINEから開いてください").tripped(2)
			b.isAccessible("reopen").fits("reopen")
			b.reloads().sees("もう一度、LINEから開いてください").tripped(2)
			v.sim.ClearFaults()
			b.click("[data-reopen]")
			b.forget(1)
			b.sees("わたしの1月").tripped(2)
		}},
		{"nor inside LINE", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.fault(t, linesim.Fault{Kind: linesim.FaultExpired, Endpoint: "verify"})
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("もう一度、LINEから開いてください").tripped(1)
			v.sim.ClearFaults()
			b.opensInside(hanako, v.first.DocumentID).sees("わたしの1月").tripped(1)
		}},
		{"a login that never sticks ends after two", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, changeSDK(`sdk.isLoggedIn = () => false`)).opensOutside(v.first.DocumentID).logsInAs(hanako).logsInAs(hanako)
			b.sees("もう一度、LINEから開いてください").tripped(2)
		}},
		{"a browser that keeps nothing is not sent to a login that nothing would stop", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, changeSDK(`sdk.isLoggedIn = () => false; Storage.prototype.setItem = () => { throw new Error("full") }`)).opensOutside(v.first.DocumentID)
			b.sees("もう一度、LINEから開いてください").tripped(0)
		}},
		{"a phone whose clock is wrong is told to set it", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, changeSDK(`sdk.init = () => Promise.reject(Object.assign(new Error("skew"), { code: "INVALID_ID_TOKEN" }))`)).opensOutside(v.first.DocumentID)
			b.sees("端末の時刻がずれているようです").tripped(0).isAccessible("clock").fits("clock")
		}},
		{"a page that LINE's script does not reach says so and can be tried again", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "")
			b.blocks(v.sim.SDKURL(), true)
			b.do(chromedp.Navigate(v.url + "/liff/documents/" + v.first.DocumentID))
			b.sees("LINEの画面を準備できませんでした").isAccessible("start")
			b.blocks(v.sim.SDKURL(), false)
			b.click("[data-again]").logsInAs(hanako).sees("わたしの1月").tripped(1)
		}},
		{"an address that is cut short is said plainly", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.phone(t, browser, "").opensInside(hanako, "ABC").sees("この表は見つかりません").tripped(0).isAccessible("unknown").fits("unknown")
		}},
		{"the LIFF app's own address opens the document that concerns the reader", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "")
			b.do(chromedp.Navigate(v.sim.BaseURL() + "/sim/open?" + url.Values{"as": {hanako}, "uri": {v.sim.LIFFBaseURL() + "/" + v.sim.Login().LIFFID}}.Encode()))
			b.sees("わたしの1月").sees("第1版").tripped(0)
		}},
		{"two teachers share a browser and each sees their own", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("佐藤 花子さん")
			b.opensInside(ichiro, v.first.DocumentID).sees("鈴木 一郎さん").sees("22:00–翌1:00")
		}},
		{"an older document leads to the newest", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.Confirm(t, 0, 14, "18:00-21:30")
			v.publish(t)
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("新しい第2版があります").isAccessible("older")
			b.click(".document-newer").sees("これから 3件").sees("第2版・横に動きます").tripped(0)
		}},
		{"the reader chooses the language", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			b.click(".document-language button").sees("My January").sees("Your next shift").tripped(0)
			b.isAccessible("document-en").fits("document-en")
			b.window(360, 740).fits("document-en-360").shot("document-en-360")
			b.click(".document-language button").sees("わたしの1月")
		}},
		{"a teacher confirms, and is asked again when their shifts changed", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("確認しました").sees("第1版 1月8日(金) 14:32を確認します")
			b.click("#receipt button").sees("確認済 14:32").isAccessible("confirmed").fits("confirmed")
			if id := eval[string](b, `document.activeElement.id`); id != "receipt" {
				t.Errorf("the focus is on %q afterwards", id)
			}
			v.changeAfterPublication(t)
			b.wakes(10 * time.Minute).sees("確認のあとに、あなたのシフトが変わりました").sees("あなたの変更が 3件あります")
			second := v.publish(t)
			b.opensInside(hanako, second.DocumentID).sees("前に確認した第1版から").sees("変更3件を確認します").isAccessible("changes").fits("changes")
			b.window(360, 740).fits("changes-360").shot("changes-360")
			b.dark().isAccessible("changes-dark")
			b.click("#receipt button").sees("確認済 14:42").tripped(0)
		}},
		{"the admin sees who confirmed", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("確認しました").click("#receipt button").sees("確認済 14:32")
			v.phone(t, browser, "").opensInside(ichiro, v.first.DocumentID).sees("わたしの1月")
			b := v.phone(t, browser, "")
			b.do(chromedp.Navigate(v.url + v.auth.IssueSignInLink(v.Admin.ID)))
			b.click("main button").sees("サインインしました")
			b.do(chromedp.Navigate(fmt.Sprintf("%s/publications/%d", v.url, v.first.ID)))
			b.sees("3名のうち 1名が確認しました").shot("receipts-panel").click(`a[href$="/receipts"]`)
			b.sees("まだ確認していない人").sees("1 / 3名").isAccessible("receipts").fits("receipts")
			b.window(1280, 900).isAccessible("receipts-wide")
			b.dark().isAccessible("receipts-dark")
			b.do(chromedp.Navigate(v.url + v.document()))
			b.sees("管理者として表示しています").isAccessible("document-admin").fits("document-admin")
		}},
		{"what changed while the page was shown is not confirmed unseen", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("確認しました")
			v.changeAfterPublication(t)
			b.click("#receipt button").sees("表示のあとで変わりました").sees("18:00–21:30").isAccessible("overtaken")
		}},
		{"a form that cannot be sent says so and keeps the page", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("お知らせを止める")
			b.blocks(v.url+"/viewer/notices", true)
			b.click("#notices button").sees("電波の状態を確かめて").sees("わたしの1月")
			b.blocks(v.url+"/viewer/notices", false)
			b.click("#notices button").sees("お知らせを受け取る").sees("わたしの1月").isAccessible("notices-off")
		}},
		{"a teacher whose session ended while the page was open signs in by pressing", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("確認しました")
			v.Clock.Advance(13 * time.Hour)
			b.click("#receipt button").sees("1月12日(火)").sees("確認しました").tripped(1)
		}},
		{"a teacher makes a calendar address and ends it", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("登録用のアドレスを作る")
			b.click("#calendar button").sees("登録用のアドレスを作りました").isAccessible("calendar-made").fits("calendar-made")
			b.wakes(10 * time.Minute).sees("あと2時間18分")
			b.click("#calendar .button-danger").sees("すべての出勤を、ふだんのカレンダーに")
		}},
		{"the document is readable for everybody", func(t *testing.T, v *viewerSite, browser context.Context) {
			v.changeAfterPublication(t)
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			b.isAccessible("document").fits("document")
			b.window(360, 740).fits("document-360").shot("document-360")
			b.dark().isAccessible("document-dark")
			b.window(320, 256).fits("document-400").isAccessible("document-400")
		}},
		{"the document can be used by keyboard alone", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			b.walksByKeyboard()
		}},
		{"the picture is drawn", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, "").opensInside(hanako, v.first.DocumentID).sees("画像")
			if w := eval[int](b, `{ const i = document.querySelector(".picture img"); i.scrollIntoView(); i.decode().then(() => i.naturalWidth) }`); w != 216 {
				t.Errorf("it is %d px wide", w)
			}
		}},
		{"the page's own policy is broken by nothing on it", func(t *testing.T, v *viewerSite, browser context.Context) {
			b := v.phone(t, browser, `window.broken = []; document.addEventListener("securitypolicyviolation", (e) => broken.push(e.violatedDirective + " " + e.blockedURI))`)
			b.opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			if broken := eval[[]string](b, `broken`); len(broken) > 0 {
				t.Errorf("blocked: %v", broken)
			}
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			story.tell(t, newViewerSite(t), browser)
		})
	}
}

// changeSDK is a script that changes LINE's SDK as soon as it is there.
func changeSDK(change string) string {
	return `{ let sdk; Object.defineProperty(window, "liff", { get: () => sdk, set: (v) => { sdk = v; ` + change + ` } }) }`
}

// changeAfterPublication moves, takes and adds a shift of the first teacher.
func (v *viewerSite) changeAfterPublication(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for _, x := range dbtest.Must(v.Store.Month(ctx, v.Group.ID, v.Month))(t).Shifts {
		switch {
		case x.TeacherID != v.Teachers[0].ID:
		case x.Date.Day == 8:
			dbtest.Must(v.Store.ChangeShift(ctx, x.ID, x.EditNumber, v.Edit(t, 0, 8, "18:00-21:30")))(t)
		case x.Date.Day == 12:
			dbtest.Must(v.Store.MoveShift(ctx, x.ID, x.EditNumber, roster.ShiftDeleted))(t)
		}
	}
	v.Confirm(t, 0, 20, "9:00-12:00")
}

// walksByKeyboard presses Tab through the whole page and checks that each stop is shown, inside the window, and covered
// by nothing.
func (b *tab) walksByKeyboard() {
	b.t.Helper()
	all := eval[int](b, `[...document.querySelectorAll("a[href], button, summary, input, select, [tabindex='0']")].filter((e) => e.checkVisibility()).length`)
	var stops []string
	for range all {
		b.do(chromedp.KeyEvent(kb.Tab))
		stop := eval[string](b, `{
			const e = document.activeElement, r = e.getBoundingClientRect();
			const x = r.left + Math.min(r.width, innerWidth) / 2, y = Math.min(Math.max(r.top + 4, 2), innerHeight - 2);
			const top = document.elementFromPoint(x, y);
			const style = getComputedStyle(e);
			const name = e.className || e.tagName;
			if (e === document.body) "nothing";
			else if (r.bottom <= 0 || r.top >= innerHeight) name + " is outside of the window";
			else if (!top || !(e.contains(top) || top.contains(e))) name + " is covered by " + (top && (top.className || top.tagName));
			else if (style.outlineStyle === "none") name + " does not show its focus";
			else "ok " + name;
		}`)
		if !strings.HasPrefix(stop, "ok ") {
			b.t.Error(stop)
		}
		stops = append(stops, stop)
	}
	if len(stops) < 5 {
		b.t.Errorf("the keyboard stops at %q only", stops)
	}
}
