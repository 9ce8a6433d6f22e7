package handlers_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render/browsertest"
)

// phone is a tab of a phone's browser. What a reader does with it returns it, so that a story is told in one go.
type phone struct {
	*browsertest.Tab
	*viewerSite
	t      *testing.T
	opened int // times the reader opened the LIFF URL outside LINE, which is also the way to log in inside
}

// phone opens a tab in a profile of its own, 390 px wide.
func (v *viewerSite) phone(t *testing.T) *phone {
	t.Helper()
	b := &phone{Tab: browsertest.Start(t).Tab(t, 390, 844), viewerSite: v, t: t}
	b.Phone(390, 844)
	return b
}

func (b *phone) sees(words string) *phone {
	b.t.Helper()
	b.Sees(words)
	return b
}

func (b *phone) clicks(selector string) *phone {
	b.t.Helper()
	b.ClickOn(selector)
	return b
}

func (b *phone) reloads() *phone {
	b.t.Helper()
	b.Reload()
	return b
}

func (b *phone) isAccessible(name string) *phone {
	b.t.Helper()
	b.Accessible(name)
	return b
}

func (b *phone) fits(name string) *phone {
	b.t.Helper()
	b.Fits(name)
	return b
}

// opensOutside follows the LIFF URL as an ordinary browser would.
func (b *phone) opensOutside(documentID string) *phone {
	b.t.Helper()
	b.Open(b.liffURL() + "/documents/" + documentID)
	b.opened++
	return b
}

// opensInside taps the button of the message in the chat of a LINE user.
func (b *phone) opensInside(lineUserID, documentID string) *phone {
	b.t.Helper()
	return b.taps(lineUserID, b.liffURL()+"/documents/"+documentID)
}

// taps opens an address inside LINE on the phone of a LINE user.
func (b *phone) taps(lineUserID, address string) *phone {
	b.t.Helper()
	b.Open(b.sim.BaseURL() + "/sim/open?" + url.Values{"as": {lineUserID}, "uri": {address}}.Encode())
	return b
}

// liffURL is the LIFF app's own address.
func (b *phone) liffURL() string { return b.sim.LIFFBaseURL() + "/" + b.sim.Login().LIFFID }

// logsInAs chooses a person on LINE's login page.
func (b *phone) logsInAs(lineUserID string) *phone {
	b.t.Helper()
	b.Sees("LINEでログイン")
	b.Leave(func() { b.ClickOn(`button[value="` + lineUserID + `"]`) })
	return b
}

// tripped checks how often the page went to LINE's login by itself so far, or to LINE's door to log in inside.
func (b *phone) tripped(want int) *phone {
	b.t.Helper()
	if n := b.Visits(b.sim.BaseURL()+"/oauth2/v2.1/authorize") + b.Visits(b.liffURL()) - b.opened; n != want {
		b.t.Errorf("the page went to LINE's login %d times, want %d", n, want)
	}
	return b
}

// wakes lets the tab come back after so much time without being loaded.
func (b *phone) wakes(after time.Duration) *phone {
	b.t.Helper()
	b.Clock.Advance(after)
	b.Script(fmt.Sprintf(`{ const now = Date.now; Date.now = () => now() + %d; document.dispatchEvent(new Event("visibilitychange")) }`, after.Milliseconds()))
	return b
}

func TestTheViewerInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Start(t) // for all stories, whichever run at the same time
	for _, story := range []struct {
		name string
		tell func(*testing.T, *viewerSite)
	}{
		{"on the first visit outside LINE a teacher logs in once", func(t *testing.T, v *viewerSite) {
			v.phone(t).opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月").tripped(1)
		}},
		{"on the second visit nobody logs in and LINE is not asked", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月")
			b.opensOutside(v.first.DocumentID).sees("わたしの1月").reloads().sees("わたしの1月").tripped(1)
			if n := v.verifications(); n != 1 {
				t.Errorf("LINE was asked %d times", n)
			}
		}},
		{"inside LINE nobody logs in", func(t *testing.T, v *viewerSite) {
			v.phone(t).opensInside(hanako, v.first.DocumentID).sees("わたしの1月").sees("佐藤 花子さん").tripped(0)
		}},
		{"an expired token inside LINE is renewed by opening the page anew", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			v.Clock.Advance(13 * time.Hour)
			b.reloads().sees("1月12日(火)").tripped(1)
			// The guard was taken down, so the next time works as well.
			v.Clock.Advance(13 * time.Hour)
			b.reloads().sees("1月12日(火)").tripped(2)
		}},
		{"an expired token outside LINE is renewed by one login", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月")
			v.Clock.Advance(13 * time.Hour)
			b.opensOutside(v.first.DocumentID).logsInAs(hanako).sees("わたしの1月").tripped(2)
		}},
		{"a page that sleeps in LINE over night renews itself when it wakes", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("今日 1月8日").tripped(0)
			b.wakes(13 * time.Hour).sees("これから 1件").sees("わたしの1月").tripped(1)
		}},
		{"a page that sleeps for an hour shows what is so now, without a login", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("あと2時間28分")
			v.Confirm(t, 0, 20, "9:00-12:00")
			b.wakes(time.Hour).sees("公開後に追加").sees("あと1時間28分").tripped(0)
		}},
		{"a stranger is told whom to ask", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensOutside(v.first.DocumentID).logsInAs(stranger).sees("教室長に招待を頼んでください").tripped(1)
			b.isAccessible("stranger").fits("stranger")
			if text := browsertest.Value[string](b.Tab, `document.body.innerText`); strings.Contains(text, "佐藤") || strings.Contains(text, "駅前") {
				t.Errorf("a stranger reads %s", text)
			}
			v.phone(t).opensInside(stranger, v.first.DocumentID).sees("教室長に招待を頼んでください").tripped(0)
		}},
		{"a teacher who left while looking is a stranger at the next look", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			if err := v.Store.UnlinkTeacher(t.Context(), v.Teachers[0].ID); err != nil {
				t.Fatal(err)
			}
			b.wakes(10 * time.Minute).sees("教室長に招待を頼んでください").tripped(0)
			b.opensInside(hanako, v.first.DocumentID).sees("教室長に招待を頼んでください").tripped(0)
		}},
		{"while LINE cannot be asked the page says so and can be tried again", func(t *testing.T, v *viewerSite) {
			v.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "verify", Status: 500, Count: 1})
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("LINEに確かめられませんでした。少し待って、もう一度お試しください。")
			b.isAccessible("line-down").fits("line-down")
			b.clicks("[data-again]").sees("わたしの1月").tripped(0)
		}},
		{"a LINE that always says expired does not send a teacher round and round", func(t *testing.T, v *viewerSite) {
			v.fault(t, linesim.Fault{Kind: linesim.FaultExpired, Endpoint: "verify"})
			b := v.phone(t).opensOutside(v.first.DocumentID).logsInAs(hanako).logsInAs(hanako).sees("もう一度、LINEから開いてください").tripped(2)
			b.isAccessible("reopen").fits("reopen")
			b.reloads().sees("もう一度、LINEから開いてください").tripped(2)
			v.sim.ClearFaults()
			b.clicks("[data-reopen]")
			b.opened++
			b.sees("わたしの1月").tripped(2)
		}},
		{"nor inside LINE", func(t *testing.T, v *viewerSite) {
			v.fault(t, linesim.Fault{Kind: linesim.FaultExpired, Endpoint: "verify"})
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("もう一度、LINEから開いてください").tripped(1)
			v.sim.ClearFaults()
			b.opensInside(hanako, v.first.DocumentID).sees("わたしの1月").tripped(1)
		}},
		{"a login that never sticks ends after two", func(t *testing.T, v *viewerSite) {
			b := v.phone(t)
			b.BeforePages(changeSDK(`sdk.isLoggedIn = () => false`))
			b.opensOutside(v.first.DocumentID).logsInAs(hanako).logsInAs(hanako)
			b.sees("もう一度、LINEから開いてください").tripped(2)
		}},
		{"a browser that keeps nothing is not sent to a login that nothing would stop", func(t *testing.T, v *viewerSite) {
			b := v.phone(t)
			b.BeforePages(changeSDK(`sdk.isLoggedIn = () => false; Storage.prototype.setItem = () => { throw new Error("full") }`))
			b.opensOutside(v.first.DocumentID)
			b.sees("もう一度、LINEから開いてください").tripped(0)
		}},
		{"a phone whose clock is wrong is told to set it", func(t *testing.T, v *viewerSite) {
			b := v.phone(t)
			b.BeforePages(changeSDK(`sdk.init = () => Promise.reject(Object.assign(new Error("skew"), { code: "INVALID_ID_TOKEN" }))`))
			b.opensOutside(v.first.DocumentID)
			b.sees("端末の時刻がずれているようです").tripped(0).isAccessible("clock").fits("clock")
		}},
		{"a page that LINE's script does not reach says so and can be tried again", func(t *testing.T, v *viewerSite) {
			b := v.phone(t)
			b.Block(v.sim.SDKURL())
			b.Open(v.url + "/liff/documents/" + v.first.DocumentID)
			b.sees("LINEの画面を準備できませんでした").isAccessible("start")
			b.Block()
			b.clicks("[data-again]").logsInAs(hanako).sees("わたしの1月").tripped(1)
		}},
		{"an address that is cut short is said plainly", func(t *testing.T, v *viewerSite) {
			v.phone(t).opensInside(hanako, "ABC").sees("この表は見つかりません").tripped(0).isAccessible("unknown").fits("unknown")
		}},
		{"the LIFF app's own address opens the document that concerns the reader", func(t *testing.T, v *viewerSite) {
			b := v.phone(t)
			b.taps(hanako, b.liffURL()).sees("わたしの1月").sees("第1版").tripped(0)
		}},
		{"two teachers share a browser and each sees their own", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("佐藤 花子さん")
			b.opensInside(ichiro, v.first.DocumentID).sees("鈴木 一郎さん").sees("22:00–翌1:00")
		}},
		{"an older document leads to the newest", func(t *testing.T, v *viewerSite) {
			v.Confirm(t, 0, 14, "18:00-21:30")
			v.publish(t)
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("新しい第2版があります").isAccessible("older")
			b.clicks(".document-newer").sees("これから 3件").sees("第2版・横に動きます").tripped(0)
		}},
		{"the reader chooses the language", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			b.clicks(".document-language button").sees("My January").sees("Your next shift").tripped(0)
			b.isAccessible("document-en").fits("document-en")
			b.Phone(360, 740)
			b.fits("document-en-360").Shot("document-en-360")
			b.clicks(".document-language button").sees("わたしの1月")
		}},
		{"a teacher confirms, and is asked again when their shifts changed", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("確認しました").sees("第1版 1月8日(金) 14:32を確認します")
			b.clicks("#receipt button").sees("確認済 14:32").isAccessible("confirmed").fits("confirmed")
			if id := browsertest.Value[string](b.Tab, `document.activeElement.id`); id != "receipt" {
				t.Errorf("the focus is on %q afterwards", id)
			}
			v.changeAfterPublication(t)
			b.wakes(10 * time.Minute).sees("確認のあとに、あなたのシフトが変わりました").sees("あなたの変更が 3件あります")
			second := v.publish(t)
			b.opensInside(hanako, second.DocumentID).sees("前に確認した第1版から").sees("変更3件を確認します").isAccessible("changes").fits("changes")
			b.Phone(360, 740)
			b.fits("changes-360").Shot("changes-360")
			b.Dark()
			b.isAccessible("changes-dark")
			b.clicks("#receipt button").sees("確認済 14:42").tripped(0)
		}},
		{"the admin sees who confirmed", func(t *testing.T, v *viewerSite) {
			v.phone(t).opensInside(hanako, v.first.DocumentID).sees("確認しました").clicks("#receipt button").sees("確認済 14:32")
			v.phone(t).opensInside(ichiro, v.first.DocumentID).sees("わたしの1月")
			b := v.phone(t)
			b.Open(v.url + v.auth.IssueSignInLink(v.Admin.ID))
			b.clicks("main button").sees("サインインしました")
			b.Open(fmt.Sprintf("%s/publications/%d", v.url, v.first.ID))
			b.sees("3名のうち 1名が確認しました").Shot("receipts-panel")
			b.clicks(`a[href$="/receipts"]`)
			b.sees("まだ確認していない人").sees("1 / 3名").isAccessible("receipts").fits("receipts")
			b.Window(1280, 900)
			b.isAccessible("receipts-wide")
			b.Dark()
			b.isAccessible("receipts-dark")
			b.Open(v.url + v.document())
			b.sees("管理者として表示しています").isAccessible("document-admin").fits("document-admin")
		}},
		{"what changed while the page was shown is not confirmed unseen", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("確認しました")
			v.changeAfterPublication(t)
			b.clicks("#receipt button").sees("表示のあとで変わりました").sees("18:00–21:30").isAccessible("overtaken")
		}},
		{"a form that cannot be sent says so and keeps the page", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("お知らせを止める")
			b.Block(v.url + "/viewer/notices")
			b.clicks("#notices button").sees("電波の状態を確かめて").sees("わたしの1月")
			b.Block()
			b.clicks("#notices button").sees("お知らせを受け取る").sees("わたしの1月").isAccessible("notices-off")
		}},
		{"a teacher whose session ended while the page was open signs in by pressing", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("確認しました")
			v.Clock.Advance(13 * time.Hour)
			b.clicks("#receipt button").sees("1月12日(火)").sees("確認しました").tripped(1)
		}},
		{"a teacher makes a calendar address and ends it", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("登録用のアドレスを作る")
			b.clicks("#calendar button").sees("登録用のアドレスを作りました").isAccessible("calendar-made").fits("calendar-made")
			b.wakes(10 * time.Minute).sees("あと2時間18分")
			b.clicks("#calendar .button-danger").sees("すべての出勤を、ふだんのカレンダーに")
		}},
		{"the document is readable for everybody", func(t *testing.T, v *viewerSite) {
			v.changeAfterPublication(t)
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			b.isAccessible("document").fits("document")
			b.Phone(360, 740)
			b.fits("document-360").Shot("document-360")
			b.Dark()
			b.isAccessible("document-dark")
			b.Phone(320, 256)
			b.fits("document-400").isAccessible("document-400")
		}},
		{"the document can be used by keyboard alone", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			b.walksByKeyboard()
		}},
		{"the picture is drawn", func(t *testing.T, v *viewerSite) {
			b := v.phone(t).opensInside(hanako, v.first.DocumentID).sees("画像")
			if w := browsertest.Value[int](b.Tab, `{ const i = document.querySelector(".picture img"); i.scrollIntoView(); i.decode().then(() => i.naturalWidth) }`); w != 216 {
				t.Errorf("it is %d px wide", w)
			}
		}},
		{"the page's own policy is broken by nothing on it", func(t *testing.T, v *viewerSite) {
			b := v.phone(t)
			b.WatchErrors()
			b.opensInside(hanako, v.first.DocumentID).sees("わたしの1月")
			if wrong := b.Errors(); len(wrong) > 0 {
				t.Errorf("what went wrong: %v", wrong)
			}
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			story.tell(t, newViewerSite(t))
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
func (b *phone) walksByKeyboard() {
	b.t.Helper()
	all := browsertest.Value[int](b.Tab, `[...document.querySelectorAll("a[href], button, summary, input, select, [tabindex='0']")].filter((e) => e.checkVisibility()).length`)
	var stops []string
	for range all {
		b.Press(kb.Tab)
		stop := browsertest.Value[string](b.Tab, `{
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
