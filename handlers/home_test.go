package handlers

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// exec stages what no method would do.
func (s *schoolSite) exec(query string, args ...any) {
	s.Helper()
	if _, err := s.Store.SessionDB().ExecContext(s.Context(), query, args...); err != nil {
		s.Fatal(err)
	}
}

// until moves the clock to a time of 8 January, runs the sweeps and signs in anew.
func (s *schoolSite) until(hour, minute int) {
	s.Helper()
	s.Clock.Advance(time.Date(2027, 1, 8, hour, minute, 0, 0, dbtest.Tokyo).Sub(s.Clock.Now()))
	dbtest.Must(s.Store.RecoverDeliveries(s.Context()))(s)
	dbtest.Must(s.Store.MakeReminders(s.Context()))(s)
	s.signIn()
}

// change gives a shift other times.
func (s *schoolSite) change(x roster.Shift, times string) roster.Shift {
	s.Helper()
	x = s.shift(x.ID)
	e := db.ShiftEdit{TeacherID: x.TeacherID, ClassroomID: x.ClassroomID, Date: x.Date, Note: x.Note, Times: dbtest.Must(roster.ParseTimeRange(times))(s)}
	return dbtest.Must(s.Store.ChangeShift(s.Context(), x.ID, x.EditNumber, e))(s)
}

// setNotices turns a teacher's notices on or off.
func (s *schoolSite) setNotices(i int, on bool) {
	s.Helper()
	v := dbtest.Must(s.Store.Teacher(s.Context(), s.Teachers[i].ID))(s)
	e := db.TeacherEdit{ClassroomID: v.ClassroomID, Name: v.Name, Position: v.Position, NoticesOn: on}
	if err := s.Store.EditTeacher(s.Context(), v.ID, v.EditNumber, e); err != nil {
		s.Fatal(err)
	}
}

func TestHomeIsTheFirstPageOfASchoolThatHasAGroup(t *testing.T) {
	t.Parallel()
	ts := newSite(t).signIn()
	ts.get("/").wantRedirect("/groups/new")
	ts.school()
	a := ts.get("/").wantStatus(http.StatusOK).contains("<title>ホーム - Shiftpost</title>", "2027年1月8日(金) 14:32 現在", `<a class="place" href="/" aria-current="page">`)
	if first := strings.Index(a.body, `class="place"`); !strings.HasPrefix(a.body[first:], `class="place" href="/"`) {
		t.Error("home is not the first place of the bar")
	}
}

func TestHomeWithNothingToActOnSaysSoWithoutRed(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get("/").contains("いま対応することはありません。", "シフトはありません。", "未公開", "シフトはまだありません", "2 / 3名", "「みほん塾 講師連絡」", "14名", "正常", "まだ動いていません", "上限はまだ分かりません").
		lacks("panel-urgent", `class="count"`, "急ぎ", "hx-get")
	s.get("/", "Accept-Language", "en").contains("Nothing needs you now.", "Fri 8 Jan 2027, as of 14:32")
}

// What must be acted on: how it comes to be, and what the page then says about it.
var concernCases = []struct {
	name  string
	stage func(s *schoolSite)
	words []string
	lacks []string
}{
	{"the channel is held", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "16:30-20:00")
		s.finish(db.Result{Outcome: roster.Refused, Code: "HTTP_401", Status: 401, Hold: roster.HoldUnauthorized})
	}, []string{"急ぎ", "LINEが接続の鍵を受け付けないため、送信を止めています（401）", "1月8日(金) 14:32 から。", "次に確かめるのは 14:37 です。", `href="/channel"`, "止めています"}, []string{"正常"}},
	{"the clock went back", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "16:30-20:00")
		s.send1()
		s.Clock.Advance(-time.Hour)
		if err := s.Store.CheckClock(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.signIn()
	}, []string{"急ぎ", "サーバーの時計が遅れているため、送信を止めています", "1月8日(金) 13:32 から。", `href="/channel"`}, []string{"正常"}},
	{"a notice failed", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "16:30-20:00")
		s.finish(refused)
	}, []string{"急ぎ", "佐藤 花子さんにリマインドが届いていません", "今日 16:30–20:00 駅前教室。LINEが宛先を受け付けませんでした（400）。", `href="/deliveries/1"`, "配信を見る", "失敗"}, []string{"いま対応することはありません"}},
	{"a notice failed and may have arrived", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "16:30-20:00")
		s.finish(noAnswer)
		for range roster.MaxLadderTries - 1 {
			d := dbtest.Must(s.Store.Delivery(s.Context(), 1))(s)
			s.Clock.Advance(d.NextAttemptAt.Sub(s.Store.Now()))
			s.finish(noAnswer)
		}
		s.signIn()
	}, []string{"佐藤 花子さんにリマインドが届いたか分かりません", "LINEから返事がなく、届いたかどうかまだ分かりません。", "届いたか不明"}, nil},
	{"an announcement failed", func(s *schoolSite) {
		s.Confirm(s, 0, 20, "17-2130")
		s.Publish(s)
		s.finish(refused)
	}, []string{"急ぎ", "1月 第1版をグループに知らせていません", "グループへの知らせが失敗しました。"}, nil},
	{"a reminder came too late", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "16:30-20:00")
		s.until(16, 30)
	}, []string{"急ぎ", "佐藤 花子さんへのリマインドが間に合いませんでした", "今日 16:30–20:00 駅前教室。電話などで知らせてください。", `action="/deliveries/1/phone-calls"`, "電話で知らせた", "間に合わず"}, []string{"届いているかもしれません"}},
	{"a reminder may have come too late", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "16:30-20:00")
		s.finish(noAnswer)
		s.until(16, 30)
	}, []string{"佐藤 花子さんへのリマインドが間に合ったか分かりません", "届いているかもしれません。電話などで確かめてください。", "届いたか不明"}, nil},
	{"a cancellation came too late", func(s *schoolSite) {
		x := s.Confirm(s, 0, 8, "16:30-20:00")
		s.send1()
		dbtest.Must(s.Store.MoveShift(s.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(s)
		s.until(16, 30)
	}, []string{"佐藤 花子さんへの取消の知らせが間に合いませんでした", "今日 16:30–20:00 駅前教室 は取消です。"}, nil},
	{"a shift changes while it runs", func(s *schoolSite) {
		x := s.Confirm(s, 0, 8, "16:30-20:00")
		s.send1()
		s.until(17, 0)
		s.change(x, "16:30-21:00")
	}, []string{"急ぎ", "佐藤 花子さんのシフトが、始まってから変わりました", "今日 16:30–20:00 駅前教室 → 今日 16:30–21:00 駅前教室。LINEでは知らせません。", "?day=2027-01-08"}, nil},
	{"a shift is taken away while it runs", func(s *schoolSite) {
		x := s.Confirm(s, 0, 8, "16:30-20:00")
		s.send1()
		s.until(17, 0)
		dbtest.Must(s.Store.MoveShift(s.Context(), x.ID, s.shift(x.ID).EditNumber, roster.ShiftDraft))(s)
	}, []string{"佐藤 花子さんのシフトが、始まってから取消になりました", "→ なし。"}, nil},
	{"a change cannot be told", func(s *schoolSite) {
		x := s.Confirm(s, 0, 8, "16:30-20:00")
		s.send1()
		s.setNotices(0, false)
		s.change(x, "17:30-21:00")
	}, []string{"急ぎ", "佐藤 花子さんに変更の知らせを送れません", "今日 17:30–21:00 駅前教室。LINEは受け取らない設定です。", "電話で知らせた"}, nil},
	{"a job could not be written", func(s *schoolSite) {
		s.exec(`CREATE TRIGGER no_jobs BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no jobs'); END`)
		s.Confirm(s, 0, 8, "16:30-20:00")
	}, []string{"確認", "送信待ちに入れられない配信が1件あります", "佐藤 花子さん 今日 16:30–20:00 駅前教室。自動でもう一度入れます。次は 14:47 です。", "未送信"}, []string{"急ぎ"}},
	{"the account was removed from the LINE group", func(s *schoolSite) {
		s.exec(`UPDATE groups SET line_left_at = 1`)
	}, []string{"確認", "公式アカウントが「みほん塾 講師連絡」から外されています", `href="/groups/1/line-group"`}, nil},
	{"another LINE group was linked", func(s *schoolSite) {
		s.Confirm(s, 0, 20, "17-2130")
		s.Publish(s)
		s.send1()
		if err := s.Store.LinkGroup(s.Context(), s.Group.ID, dbtest.LINEGroupID(2), "新しい講師連絡", 9); err != nil {
			s.Fatal(err)
		}
	}, []string{"1月 第1版をいまのLINEグループに知らせていません", "「新しい講師連絡」にはまだ送っていません。", `href="/publications/1"`}, nil},
	{"the month changed since it was published", func(s *schoolSite) {
		x := s.Confirm(s, 0, 12, "17-2130")
		s.Publish(s)
		s.send1()
		s.change(x, "18-2130")
		s.Confirm(s, 1, 4, "17-2130")
	}, []string{"確認", "1月の公開後の変更 2件をまだ知らせていません", "いちばん早い変更は 1/12(火) 佐藤 花子さん。公開するとグループに届きます。", `class="button button-primary"`, `href="/groups/1/months/2027-01/publications/new"`,
		"公開済 第1版", "公開 1/8(金)", "公開後の変更 2件"}, []string{"急ぎ"}},
	{"a past day changed since the month was published", func(s *schoolSite) {
		s.Confirm(s, 0, 12, "17-2130")
		s.Publish(s)
		s.send1()
		s.Confirm(s, 1, 4, "17-2130")
	}, []string{"いま対応することはありません。", "公開後の変更 1件"}, nil},
	{"somebody cannot be told", func(s *schoolSite) {
		s.Confirm(s, 2, 9, "10-15")
	}, []string{"確認", "LINEで知らせられない講師 1名", "髙橋 健太さん（未連携）明日 10:00 出勤", `href="/teachers/3/edit"`, "送れません：未連携"}, nil},
	{"several cannot be told", func(s *schoolSite) {
		s.Confirm(s, 2, 9, "10-15")
		s.Confirm(s, 0, 8, "22-25")
		s.exec(`UPDATE teachers SET blocked = 1 WHERE id = 1`)
	}, []string{"LINEで知らせられない講師 2名", "佐藤 花子さん（ブロック中）今日 22:00 出勤・髙橋 健太さん（未連携）明日 10:00 出勤", "案内を印刷", `href="/invitations/new"`}, nil},
	{"several block the account", func(s *schoolSite) {
		s.Confirm(s, 0, 8, "22-25")
		s.Confirm(s, 1, 9, "10-15")
		s.exec(`UPDATE teachers SET blocked = 1`)
	}, []string{"LINEで知らせられない講師 2名", `href="/teachers" class="button"`}, []string{"案内を印刷"}},
	{"drafts are close", func(s *schoolSite) {
		s.Draft(s, 0, 10, "10-15")
		s.Draft(s, 1, 9, "13-18")
	}, []string{"まもなくのシフト2件が下書きのままです", "いちばん早いのは 明日 13:00 鈴木 一郎さん。", "下書き 2件"}, nil},
	{"the month's messages are used up", func(s *schoolSite) {
		if err := s.Store.RecordQuota(s.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 200}); err != nil {
			s.Fatal(err)
		}
	}, []string{"急ぎ", "今月のLINEの通数を使い切りました", "残り 0通"}, nil},
	{"the month's messages become tight", func(s *schoolSite) {
		if err := s.Store.RecordQuota(s.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 159}); err != nil {
			s.Fatal(err)
		}
		s.Confirm(s, 0, 20, "17-2130")
	}, []string{"確認", "LINEの通数が月末に上限の80%に届く見込みです", "使用 159通、月末の見込み 160通、上限 200通。2/1(月)に戻ります。"}, []string{"急ぎ"}},
}

func TestHomeSaysWhatMustBeActedOn(t *testing.T) {
	t.Parallel()
	for _, c := range concernCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t)
			c.stage(s)
			s.get("/").wantStatus(http.StatusOK).contains(c.words...).lacks(c.lacks...)
			// The other language has a sentence for all of it.
			s.get("/", "Accept-Language", "en").wantStatus(http.StatusOK).lacks(">home.", " home.", ">deliveries.", "{{", "さんへの")
		})
	}
}

func TestTheMostUrgentStandsFirst(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	for _, c := range concernCases {
		if c.name == "drafts are close" || c.name == "somebody cannot be told" {
			c.stage(s)
		}
	}
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.finish(refused)
	a := s.get("/").contains(`class="panel panel-urgent"`, `<span class="count" aria-hidden="true">3</span>`, "急ぐ順")
	if urgent, check := strings.LastIndex(a.body, "急ぎ"), strings.Index(a.body, ">確認<"); urgent < 0 || urgent > check {
		t.Error("what is not urgent stands before what is")
	}
}

func TestManyFailuresEndInOneLine(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	for i := range 8 {
		room := dbtest.Must(s.Store.CreateTeacher(t.Context(), db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "講師 " + string(rune('あ'+i)), NoticesOn: true}))(t)
		if err := s.Store.LinkTeacher(t.Context(), room.ID, dbtest.LINEUserID(20+i)); err != nil {
			t.Fatal(err)
		}
		e := s.Edit(t, 0, 8, "16:30-20:00")
		e.TeacherID = room.ID
		dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
		s.finish(refused)
	}
	a := s.get("/").contains("ほかに失敗した配信が3件あります", `href="/deliveries?state=failed"`)
	if n := strings.Count(a.body, "にリマインドが届いていません"); n != 5 {
		t.Errorf("%d failures have a line of their own, want 5", n)
	}
}

func TestWhoeverWasPhonedIsNotListedAnyMore(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.until(16, 30)
	s.follow(s.post("/deliveries/1/phone-calls", nil, "Referer", s.base+"/").wantRedirect("/")).
		contains("佐藤 花子さんに電話で知らせたことを記録しました。", "いま対応することはありません。")
	s.get("/deliveries/1").contains("電話で知らせた", "見本 室長さんの操作です。")
	s.post("/deliveries/99/phone-calls", nil).wantStatus(http.StatusNotFound)

	s.Confirm(t, 0, 9, "10-15")
	s.until(31, 45) // 7:45 on the ninth
	s.send1()
	s.follow(s.post("/deliveries/2/phone-calls", nil, "Referer", s.base+"/")).contains("この知らせは、いま送っているか、もう届いています。")
}

func TestTodayAndTomorrowShowEachShiftWithItsReminder(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.send1()
	s.Confirm(t, 1, 8, "16:30-20:00")
	s.Confirm(t, 1, 8, "22-25")
	s.Confirm(t, 0, 9, "9-12")
	s.Confirm(t, 2, 9, "10-15")
	a := s.get("/").contains("今日 1/8(金)", "明日 1/9(土)", "リマインドは2時間前", "3件", "2件", "22:00–翌1:00")
	rows := regexp.MustCompile(`(?s)<li class="home-shift.*?</li>`).FindAllString(a.body, -1)
	if len(rows) != 5 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, words := range [][]string{
		{"16:30–20:00", "佐藤", "駅前", "送信済 14:32", `href="/deliveries/1"`}, {"鈴木", "待ち", `href="/deliveries/2"`}, {"22:00–翌1:00", "予定 19:45"},
		{"9:00–12:00", "予定 6:45"}, {"髙橋", "本町", "送れません：未連携"},
	} {
		for _, w := range words {
			if !strings.Contains(rows[i], w) {
				t.Errorf("row %d: %q is missing in %s", i, w, rows[i])
			}
		}
	}
	s.exec(`UPDATE teachers SET blocked = 1 WHERE id = 1`)
	s.get("/").contains("送信済（届いていないおそれ）")
}

func TestHomeFollowsThePresentGroup(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	g, room, teacher := s.elsewhere()
	e := s.Edit(t, 0, 8, "17-2130")
	e.TeacherID, e.ClassroomID = teacher.ID, room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	s.Draft(t, 0, 9, "10-15")
	// What must be acted on is the whole school's.
	s.get("/").contains("森 渚さん（未連携）今日 17:00 出勤", "駅前・本町グループ：いちばん早いのは", `href="/?group=`+itoa(g.ID)+`"`).lacks(`class="home-times">17:00`)
	s.get("/?group="+itoa(g.ID)).contains(`class="home-times">17:00–21:30`, "LINE未接続", "0 / 1名")
	s.get("/").contains(`class="home-times">17:00–21:30`)
	s.get("/?group=99").wantStatus(http.StatusOK).contains(`class="home-times">17:00–21:30`)
}

func TestQuotaShowsWhatIsLeftAndSinceWhenItIsKnown(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 8, "16:30-20:00")
	s.send1()
	s.Confirm(t, 0, 20, "17-2130")
	if err := s.Store.RecordQuota(t.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 48}); err != nil {
		t.Fatal(err)
	}
	s.get("/").contains("2/1(月)に戻ります", "残り 152通", "使用 48 / 200通", "<strong>49通</strong>", "（リマインド 1・待ち 0）", "LINEの記録（14:32）", "差の47通は管理画面などから送られたものです。",
		`<rect class="quota-used" width="24.0%"`, `x="24.0%" width="0.5%"`, `<rect x="80.0%"`, "80%＝160").lacks("確かめられませんでした")
	s.Clock.Advance(time.Hour)
	if err := s.Store.RecordQuotaFailure(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.get("/").contains("15:32にLINEへ残数を確かめられませんでした。", "出ているのは 1月8日(金) 14:32 の数字です。")
	if err := s.Store.RecordQuota(t.Context(), db.QuotaReading{Used: 3}); err != nil {
		t.Fatal(err)
	}
	s.get("/").contains("上限はありません").lacks("quota-bar", "残り")
}

func TestHomeSaysWhenTheSweepsRan(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	record := func(name string, handled int, err error) {
		t.Helper()
		if err := s.Store.RecordSweep(t.Context(), name, s.Store.Now(), handled, err); err != nil {
			t.Fatal(err)
		}
	}
	record("reminders", 3, nil)
	record("recovery", 0, nil)
	record("quota", 0, http.ErrServerClosed)
	s.get("/").contains("リマインドの巡回", "作成 3件", "回復の巡回", "対象なし", "残数の確認", "うまくいきませんでした").lacks("まだ動いていません", "しばらく動いていません", "友だちの確認")
	record("reachability", 2, nil)
	s.get("/").contains("友だちの確認", "2件 変わりました")
	s.Clock.Advance(31 * time.Minute)
	s.get("/").contains("しばらく動いていません")
}

func TestHomeAsksForItselfOnlyWhileSomethingMoves(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get("/").lacks("hx-get")
	s.Confirm(t, 0, 8, "16:30-20:00")
	a := s.get("/").contains(`hx-trigger="every 20s"`, "待ち")
	poll := regexp.MustCompile(`hx-get="([^"]+)"`).FindStringSubmatch(a.body)[1]
	// Nothing new: the page is left alone, but for the time it was looked at.
	s.Clock.Advance(time.Minute)
	a = s.get(poll, "HX-Request", "true").wantStatus(http.StatusOK).contains(`id="home-now" hx-swap-oob="innerHTML"`, "14:33 現在").lacks("要対応", "<html")
	if got := a.header.Get("HX-Reswap"); got != "none" {
		t.Errorf("HX-Reswap is %q", got)
	}
	s.send1()
	a = s.get(poll, "HX-Request", "true").contains("要対応", "送信済 14:33", "14:33 現在").lacks("<html")
	if got := a.header.Get("HX-Reswap"); got != "" {
		t.Errorf("HX-Reswap is %q", got)
	}
	s.until(20, 1)
	s.get("/").lacks("hx-get")
}
