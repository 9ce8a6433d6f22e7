package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render/browsertest"
	"shiftpost/views"
)

// faultStory is a demo on a quiet Sunday morning, looked at on the simulator's page.
type faultStory struct {
	*demoStory
	*browsertest.Tab                  // on the chat of to
	desk             *browsertest.Tab // of the admin
	t                *testing.T
	to               string // name of the group or the person whose chat is open
	admin            roster.Admin
	group            roster.Group
	teacher          roster.Teacher // new to the school, linked to user, without shifts
	user             linesim.User
}

// startFaults opens the simulator's page on the chat of the teachers' group, or of a person who is new to the school.
func startFaults(t *testing.T, person bool, environ ...string) *faultStory {
	t.Helper()
	ctx := t.Context()
	f := &faultStory{demoStory: startStory(t, environ...), t: t}
	f.setClock(t, f.quietDay()("08:00"))
	store := f.app.store
	groups, err := store.Groups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rooms, err := store.Classrooms(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f.group = groups[0]
	if f.admin, err = store.AdminByEmail(ctx, sampleEmail); err != nil {
		t.Fatal(err)
	}
	f.user = f.sim.AddUser(linesim.User{Name: "新井 凪", Friend: true})
	if f.teacher, err = store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: rooms[0].ID, Name: f.user.Name, NoticesOn: true}); err != nil {
		t.Fatal(err)
	}
	if err := store.LinkTeacher(ctx, f.teacher.ID, f.user.ID); err != nil {
		t.Fatal(err)
	}
	f.desk = browsertest.Start(t).Tab(t, 1280, 900)
	f.desk.Open(f.opened.Admin + f.app.auth.IssueSignInLink(f.admin.ID))
	f.desk.Leave(func() { f.desk.ClickOn("main form button") })
	f.Tab = browsertest.Start(t).Tab(t, 1280, 900)
	chat := f.group.LINEGroupID
	f.to = f.group.LINEGroupName
	if person {
		chat, f.to = f.user.ID, f.user.Name
	}
	f.Open(f.opened.Simulator + "?" + url.Values{"chat": {chat}}.Encode())
	f.Click("ほかの障害")
	return f
}

// fails starts a fault of the panel, for the next push to whoever has the chat, by clicking.
func (f *faultStory) fails(fault string) {
	f.t.Helper()
	f.ClickOn(`input[name=fault][value=` + fault + `]`)
	f.Click("この障害を始める")
	f.Until(`document.querySelectorAll("#fault-list li").length === 1`)
}

// forgets clears the fault that is over off the panel.
func (f *faultStory) forgets() {
	f.t.Helper()
	f.Sees("次からは正常に答えます。")
	f.ClickOn("#fault-list button")
	f.Sees("障害はありません。")
}

// row is a line of the simulator's log.
type row struct {
	Key, Answer, Arrived string
}

// sees waits until the log has so many requests to whoever has the chat, and checks the newest.
func (f *faultStory) sees(requests int, answer, arrived string) row {
	f.t.Helper()
	newest := browsertest.Await[row](f.Tab, fmt.Sprintf(`(() => {
		const lines = [...document.querySelectorAll(".sim-rows .sim-row")].filter((e) => e.children[1].innerText.trim() === %q);
		const [, , key, answer, arrived] = lines.length === %d ? [...lines[0].children].map((e) => e.innerText.trim()) : [];
		return answer && answer !== "待たせています" && { key: key.split(/\s/)[0], answer, arrived };
	})()`, f.to, requests))
	if newest.Answer != answer || newest.Arrived != arrived {
		f.t.Errorf("request %d was answered %q and is %q, want %q and %q", requests, newest.Answer, newest.Arrived, answer, arrived)
	}
	return newest
}

// has waits until the chat shows so many messages with some words: it is drawn anew after the log.
func (f *faultStory) has(messages int, words string) {
	f.t.Helper()
	f.Until(fmt.Sprintf(`[...document.querySelectorAll("#chat .message")].filter((e) => e.innerText.includes(%q)).length === %d`, words, messages))
}

// arrived checks that the admin reads that a delivery was sent.
func (f *faultStory) arrived(delivery int64) {
	f.t.Helper()
	f.desk.Open(f.opened.Admin + views.DeliveryPath(delivery))
	f.desk.Until(`document.querySelector("#delivery h2").textContent.trim().startsWith("送信済")`)
}

// publishes adds a shift to the next month, publishes it and returns what LINE will call the message, and its delivery.
// The picture was never drawn: nobody opens it here.
func (f *faultStory) publishes(n int) (string, int64) {
	f.t.Helper()
	ctx, store := f.t.Context(), f.app.store
	month := roster.DateOf(store.Now(), store.Location()).MonthOf().Add(1)
	f.addShift(month.First().AddDays(n), roster.TimeRange{Start: 9 * 60, End: 10 * 60})
	p, err := store.Preview(ctx, f.group.ID, month)
	if err != nil {
		f.t.Fatal(err)
	}
	hash := p.Sheet.Hash()
	if err := store.SavePreview(ctx, hash, []roster.Image{{Page: 1, Title: "駅前教室", SHA256: strings.Repeat("a", 64), Width: 2160, Height: 3000, SizeBytes: 1}}); err != nil {
		f.t.Fatal(err)
	}
	done, err := store.Publish(ctx, db.PublishInput{GroupID: f.group.ID, Month: month, SheetHash: hash, AdminID: f.admin.ID})
	if err != nil {
		f.t.Fatal(err)
	}
	f.app.runner.Wake()
	return fmt.Sprintf("第%d版", n), done.DeliveryID
}

// confirms gives the new teacher a shift that begins so soon that they are reminded of it at once, and returns the
// delivery.
func (f *faultStory) confirms(in time.Duration) int64 {
	f.t.Helper()
	loc := f.app.store.Location()
	start := f.app.store.Now().Add(in).In(loc)
	minutes := roster.Minutes(start.Hour()*60 + start.Minute())
	f.addShift(roster.DateOf(start, loc), roster.TimeRange{Start: minutes, End: minutes + 5})
	f.app.runner.Wake()
	newest, err := f.app.store.Deliveries(f.t.Context(), db.DeliveryFilter{Kind: roster.ShiftReminder, Limit: 1})
	if err != nil || len(newest) != 1 {
		f.t.Fatalf("the reminder is not there: %v", err)
	}
	return newest[0].ID
}

func (f *faultStory) addShift(on roster.Date, times roster.TimeRange) {
	f.t.Helper()
	_, err := f.app.store.AddShift(f.t.Context(), db.ShiftEdit{TeacherID: f.teacher.ID, ClassroomID: f.teacher.ClassroomID, Date: on, Times: times}, roster.ShiftConfirmed)
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestStoryAPersonMakesLINEFailInEachWayAndWatchesEachMessageArriveOnce(t *testing.T) {
	t.Parallel()
	f := startFaults(t, false, "SHIFTPOST_LINE_TIMEOUT=3s")
	const (
		everybody = "届いた（14通）"
		nobody    = "届いていない"
		before    = "前の送信で届いた"
	)
	requests := 0
	var all []string
	for i, c := range []struct {
		fault           string
		answer, arrived string
		again, then     string // what the retry is answered, and what came of it; empty: there is none
	}{
		{"status_refused", "503", nobody, "200", everybody},
		{"status_accepted", "503", everybody, "409 受付済み", before},
		{"hang_refused", "返事なし", nobody, "200", everybody},
		{"hang_accepted", "返事なし", everybody, "409 受付済み", before},
		{"cut_refused", "返事なし", nobody, "200", everybody},
		{"cut_accepted", "返事なし", everybody, "409 受付済み", before},
		{"html_refused", "502", nobody, "200", everybody},
		{"down", "返事なし", nobody, "200", everybody},
		// LINE has accepted it, whatever the answer looks like.
		{"broken", "200", everybody, "", ""},
		{"html", "200", everybody, "", ""},
		{"truncate", "200", everybody, "", ""},
		// What LINE refuses it would refuse again: a person sends it once the cause is gone.
		{"bad_request", "400", nobody, "200", everybody},
	} {
		f.fails(c.fault)
		words, delivery := f.publishes(i + 1)
		requests++
		first := f.sees(requests, c.answer, c.arrived)
		if c.again != "" {
			if c.fault == "bad_request" {
				if err := f.app.store.RetryDelivery(t.Context(), delivery, f.admin.ID, false); err != nil {
					t.Fatal(err)
				}
				f.app.runner.Wake()
			} else {
				f.Sees("の送信、2回目") // what comes next, and when, is on the page
				if c.fault == "hang_accepted" {
					f.Shot("fault-1-waiting")
				}
				f.Click("＋15分")
			}
			requests++
			if second := f.sees(requests, c.again, c.then); second.Key != first.Key {
				t.Errorf("%s: the retry has the key %s, the first try %s", c.fault, second.Key, first.Key)
			}
		}
		all = append(all, words)
		f.has(1, words)
		f.arrived(delivery)
		f.forgets()
		if t.Failed() {
			t.Fatalf("it went wrong at %s", c.fault)
		}
	}
	f.Shot("fault-2-all")
	for _, words := range all {
		f.has(1, words) // still
	}
	f.sim.Assert(t)
}

func TestStoryAPersonMakesLINERefuseTheChannelAndWatchesTheHoldEnd(t *testing.T) {
	t.Parallel()
	f := startFaults(t, true)
	f.Script(`document.querySelector("[name=target]").value = "push|users"`)
	requests, messages := 0, 0
	for _, c := range []struct {
		fault, answer string
		comes         string // what the page says comes next; empty: only a person ends it
		ends          string // the button of the page that moves the clock to the end
	}{
		{"rate", "429", "送信の再開（429）", "＋15分"},
		{"token", "401", "再開できるか鍵を確かめる（401）", "＋15分"},
		{"monthly", "429", "再開できるか残数を確かめる（429）", "＋2時間"},
		{"access", "403", "", ""},
	} {
		f.fails(c.fault)
		met := f.confirms(125 * time.Minute)
		requests++
		f.sees(requests, c.answer, "届いていない")
		// What is made while pushes are held waits.
		held := f.confirms(132 * time.Minute)
		if c.comes != "" {
			f.Sees(c.comes)
			f.Shot("fault-3-" + c.fault)
			f.Click(c.ends)
		} else {
			f.desk.Open(f.opened.Admin + "/channel")
			f.desk.Sees("この公式アカウントの送信が許可されていないため、止めています（403）")
			f.desk.Click("再開して")
			f.desk.Sees("送信を再開しました。")
		}
		requests += 2
		f.sees(requests, "200", "届いた（1通）")
		messages += 2
		f.Until(fmt.Sprintf(`document.querySelectorAll("#chat .message").length === %d`, messages))
		f.arrived(met)
		f.arrived(held)
		f.forgets()
		if t.Failed() {
			t.Fatalf("it went wrong at %s", c.fault)
		}
	}

	// A slow LINE is waited for.
	f.fails("slow")
	slow := f.confirms(110 * time.Minute)
	f.Sees("待たせています")
	f.sees(requests+1, "200", "届いた（1通）")
	f.Until(fmt.Sprintf(`document.querySelectorAll("#chat .message").length === %d`, messages+1))
	f.arrived(slow)
	f.sim.Assert(t)
}
