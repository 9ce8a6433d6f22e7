package handlers

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// stored is a delivery as it is stored now.
func (s *schoolSite) stored(id int64) db.DeliveryDetail {
	s.Helper()
	return dbtest.Must(s.Store.Delivery(s.Context(), id))(s)
}

// wantState checks in which state a delivery is.
func (s *schoolSite) wantState(id int64, state roster.DeliveryState, code roster.Code) {
	s.Helper()
	if d := s.stored(id); d.State != state || d.Code != code {
		s.Fatalf("delivery %d is %s %q, want %s %q", id, d.State, d.Code, state, code)
	}
}

// exhaust lets the delivery that is due use up its tries, none of which was answered.
func (s *schoolSite) exhaust() {
	s.Helper()
	for i := range roster.MaxLadderTries {
		if i > 0 {
			s.Clock.Advance(32 * time.Minute)
		}
		s.finish(noAnswer)
	}
}

// later moves the clock, by so much that the admin has to sign in again.
func (s *schoolSite) later(d time.Duration) {
	s.Helper()
	s.Clock.Advance(d)
	s.signIn()
}

// reminded is a school that reminds a teacher at 14:32 of a shift that begins at 16:00.
func reminded(t *testing.T) (*schoolSite, roster.Shift) {
	t.Helper()
	s := newSchool(t)
	return s, s.Confirm(t, 0, 8, "16-18")
}

// buttons lists the words of the buttons and button-like links in the panel of what can be done, and those that cannot
// be pressed in brackets.
func (a *answer) buttons() []string {
	a.t.Helper()
	_, panel, _ := strings.Cut(a.body, `<section class="panel delivery-actions">`)
	panel, _, _ = strings.Cut(panel, `</section>`)
	var list []string
	for _, part := range strings.Split(panel, `class="button`)[1:] {
		tag, rest, _ := strings.Cut(part, ">")
		_, words, _ := strings.Cut(rest, "<span")
		_, words, _ = strings.Cut(words, ">")
		words, _, _ = strings.Cut(words, "<")
		if strings.Contains(tag, " disabled") {
			words = "[" + words + "]"
		}
		list = append(list, words)
	}
	return list
}

func TestDeliverySaysWhatCanBeDoneAndWhyNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		story   func(*schoolSite) string // returns the delivery's address
		buttons []string
		has     []string
	}{
		{"its turn has come", func(*schoolSite) string { return "/deliveries/1" }, []string{"[いま送る]", "送るのをやめる"}, []string{"順番が来ています。"}},
		{"being sent", func(s *schoolSite) string { s.try(); return "/deliveries/1" }, []string{"[送るのをやめる]"}, []string{"送っている間は、やめられません。"}},
		{"waiting to retry", func(s *schoolSite) string { s.finish(fault); return "/deliveries/1" }, []string{"いま送り直す", "送るのをやめる"}, []string{"1回目が届いている場合、やめてもグループのメッセージは消えません。"}},
		{"not queued", func(s *schoolSite) string {
			dbtest.Must(s.Store.SessionDB().ExecContext(s.Context(), `CREATE TRIGGER no_jobs BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'no'); END`))(s)
			s.Confirm(s, 1, 13, "17-2130")
			return "/deliveries/" + itoa(s.Publish(s).DeliveryID)
		}, []string{"[いま送る]", "送るのをやめる"}, []string{"まだ送っていません", "まだ送信待ちに入っていません。14:47:00 に自動で入れ直します。", "やめると、取りやめになっていた第1版を代わりに送ります。"}},
		{"sent", func(s *schoolSite) string { s.send1(); return "/deliveries/1" }, []string{"確認した人を見る", "公開の画面を見る"}, []string{"届いたメッセージはLINEの仕組みで取り消せません。"}},
		{"refused", func(s *schoolSite) string { s.finish(refused); return "/deliveries/1" }, []string{"再送（14通）"}, nil},
		{"out of tries", func(s *schoolSite) string { s.exhaust(); return "/deliveries/1" }, []string{"再送（14通）"}, []string{"同じキーで送り直すので、もう届いていても二重にはなりません。"}},
		{"superseded", func(s *schoolSite) string { s.Confirm(s, 1, 13, "17-2130"); s.Publish(s); return "/deliveries/1" }, []string{"公開の画面を見る"}, []string{"取りやめた配信は送り直せません。"}},
		{"held", func(s *schoolSite) string {
			s.finish(unauthorized)
			s.Confirm(s, 1, 13, "17-2130")
			s.Publish(s)
			return "/deliveries/2"
		}, []string{"いま送る", "送るのをやめる"}, []string{"送信は止まっていますが、この1件だけを試します。", "LINEへの送信を止めています"}},
		{"failed by a hold", func(s *schoolSite) string { s.finish(unauthorized); return "/deliveries/1" }, []string{"再送（14通）"}, []string{"送信は止まっていますが、この1件は送ります。", "送信を止めています（401）"}},
		{"a notice that waits", func(s *schoolSite) string {
			s.send1()
			x := s.Confirm(s, 0, 8, "16-18")
			s.send1()
			dbtest.Must(s.Store.ChangeShift(s.Context(), x.ID, x.EditNumber, s.Edit(s, 0, 8, "17-19")))(s)
			return "/deliveries/3"
		}, []string{"いま送る", "送るのをやめる"}, []string{"少し待ってから送ります", "訂正の知らせ", "1/8(金) 17:00–19:00 駅前教室", "佐藤 花子"}},
		{"a sent notice", func(s *schoolSite) string { s.send1(); s.Confirm(s, 0, 8, "16-18"); s.send1(); return "/deliveries/2" }, nil, []string{"シフトを直すと、訂正の知らせを送ります。"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := announced(t)
			a := s.get(c.story(s)).wantStatus(http.StatusOK).contains(c.has...)
			if got := a.buttons(); !slices.Equal(got, c.buttons) {
				t.Errorf("it offers %q, want %q", got, c.buttons)
			}
		})
	}
}

func TestFailedDeliveryIsRetriedOnceHoweverOftenThatIsPressed(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.finish(refused)
	key := s.stored(1).RetryKey
	woken := s.woken.Load()
	s.follow(s.post(path+"/retries", nil).wantRedirect(path)).contains("再送を始めました。", "まもなく送ります", "送り直しを始めた", "見本 室長さんの操作です。")
	s.follow(s.post(path+"/retries", nil).wantRedirect(path)).contains("この配信は、もう失敗ではありません。いまの状態を表示しています。")
	s.follow(s.post(path+"/retries", fields("confirmed", "true")).wantRedirect(path))
	if d := s.stored(1); d.State != roster.Queued || d.Ladder != 2 || d.RetryKey != key {
		t.Errorf("it is %s on ladder %d, the same key: %v", d.State, d.Ladder, d.RetryKey == key)
	}
	if n := s.woken.Load() - woken; n != 1 {
		t.Errorf("the runner was woken %d times, want once", n)
	}
	s.get(path).contains("<strong>2回目</strong>", "<strong>7回目</strong>").lacks("<strong>1回目</strong>")
	s.send1()
	s.get(path).contains("送信済", "2回目の送信をLINEが受け付けました。")
	s.post("/deliveries/9/retries", nil).wantStatus(http.StatusNotFound)
	s.post("/deliveries/x/retries", nil).wantStatus(http.StatusNotFound)
}

func TestRetryThatCouldArriveTwiceAsksFirst(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.exhaust()
	// The same key is still good: nothing to ask.
	s.get(path + "/retries/new").wantRedirect(path)
	key := s.stored(1).RetryKey
	s.later(24 * time.Hour)
	question := []string{"キーを新しくして送り直しますか", "1月8日(金) 17:12 の送信は、もう届いているかもしれません。", "届いていた場合、同じ内容が2つ届きます。", "通数：14通", "送らない", "新しいキーで14通を送る", `name="confirmed" value="true"`}
	s.get(path).contains(append(question, `data-opens="new-key"`, `<dialog class="dialog" id="new-key"`, `href="/deliveries/1/retries/new"`)...)
	s.get(path + "/retries/new").wantStatus(http.StatusOK).contains(append(question, "<html", "autofocus")...).lacks("<dialog")
	s.post(path+"/retries", nil).wantStatus(http.StatusConflict).contains(question...)
	s.wantState(1, roster.Failed, roster.CodeTimeout)
	s.get("/deliveries").contains(`href="/deliveries/1/retries/new"`).lacks(`action="/deliveries/1/retries"`)

	s.post(path+"/retries", fields("confirmed", "true")).wantRedirect(path)
	s.follow(s.post(path+"/retries", fields("confirmed", "true")).wantRedirect(path)).contains("もう失敗ではありません")
	s.wantState(1, roster.Queued, "")
	if s.stored(1).RetryKey == key {
		t.Error("the retry uses a key that LINE has forgotten")
	}
	s.get(path).contains("新しいキーで送り直しを始めた")
	s.get(path + "/retries/new").wantRedirect(path)
	s.get("/deliveries/9/retries/new").wantStatus(http.StatusNotFound)
}

func TestRetryAfterTheKeysEndNeedsNoQuestionWhenAllWasRefused(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.finish(refused)
	s.later(24 * time.Hour)
	s.get(path).contains("前の送信はどれもLINEに断られました。新しいキーで送ります。").lacks("<dialog", "data-opens")
	s.post(path+"/retries", nil).wantRedirect(path)
	s.wantState(1, roster.Queued, "")
}

func TestRetryThatIsNoLongerWantedIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		notice bool
		story  func(*schoolSite, roster.Shift)
		reason string
	}{
		{"a newer version", false, func(s *schoolSite, _ roster.Shift) { s.Confirm(s, 1, 13, "17-2130"); s.Publish(s) }, "新しい配信があるため、再送できません。"},
		{"another LINE group", false, func(s *schoolSite, _ roster.Shift) {
			if err := s.Store.LinkGroup(s.Context(), s.Group.ID, dbtest.LINEGroupID(2), "別の連絡", 3); err != nil {
				s.Fatal(err)
			}
		}, "公式アカウントがLINEグループにいないか、グループが替わったため、再送できません。"},
		{"the shift began", true, func(s *schoolSite, _ roster.Shift) { s.Clock.Advance(90 * time.Minute) }, "シフトが始まったため、再送できません。"},
		{"the shift was deleted", true, func(s *schoolSite, x roster.Shift) {
			dbtest.Must(s.Store.MoveShift(s.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(s)
		}, "シフトが消されたため、再送できません。"},
		{"the shift is a draft", true, func(s *schoolSite, x roster.Shift) {
			dbtest.Must(s.Store.MoveShift(s.Context(), x.ID, x.EditNumber, roster.ShiftDraft))(s)
		}, "シフトが下書きに戻されたため、再送できません。"},
		{"the shift changed", true, func(s *schoolSite, x roster.Shift) {
			dbtest.Must(s.Store.ChangeShift(s.Context(), x.ID, x.EditNumber, s.Edit(s, 0, 8, "16-20")))(s)
		}, "シフトが変わったため、古い内容は再送できません。"},
		{"the teacher's notices are off", true, func(s *schoolSite, x roster.Shift) {
			if err := s.Store.SetNotices(s.Context(), x.TeacherID, false); err != nil {
				s.Fatal(err)
			}
		}, "講師がLINEの知らせを切っているため、再送できません。"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s *schoolSite
			var x roster.Shift
			if c.notice {
				s, x = reminded(t)
			} else {
				s, _ = announced(t)
			}
			s.finish(refused)
			c.story(s, x)
			a := s.get("/deliveries/1").contains(c.reason)
			if got := a.buttons(); got[0] != "[再送]" {
				t.Errorf("it offers %q", got)
			}
			s.post("/deliveries/1/retries", fields("confirmed", "true")).wantStatus(http.StatusConflict).contains(`role="alert"`, c.reason, "届いていません")
			s.wantState(1, roster.Failed, "HTTP_400")
			s.get("/deliveries?state=failed").contains(c.reason).lacks("row-failed", `action="/deliveries/1/retries"`, "この理由の失敗", `class="count"`)
		})
	}
}

func TestWaitingDeliveryIsHurriedOnceHoweverOftenThatIsPressed(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.finish(fault)
	s.get(path).contains(`<input type="hidden" name="_method" value="DELETE">`, `action="/deliveries/1/wait"`)
	s.follow(s.del(path+"/wait").wantRedirect(path)).contains("次の送信を早めました。", "次の送信を早めた", "順番が来ています。")
	s.del(path + "/wait").wantRedirect(path)
	hurried := 0
	for _, e := range s.stored(1).Events {
		if e.Event == db.EventHurried {
			hurried++
		}
	}
	if hurried != 1 {
		t.Errorf("the history has it %d times, want once", hurried)
	}
	s.try()
	s.follow(s.del(path+"/wait").wantRedirect(path)).contains("もう送っているか、終わっています。いまの状態を表示しています。", "LINEに送っています")
	s.del("/deliveries/9/wait").wantStatus(http.StatusNotFound)
}

func TestWaitingDeliveryIsCalledOff(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	s.finish(fault)
	s.follow(s.del(path).wantRedirect(path)).contains("取りやめました。届いているかもしれません", "管理者が取りやめました。")
	s.wantState(1, roster.Canceled, roster.CodeCanceledByAdmin)
	// Pressed twice.
	s.follow(s.del(path).wantRedirect(path)).lacks("もう送っているか、終わっています。")
	s.del("/deliveries/9").wantStatus(http.StatusNotFound)
}

func TestWhatIsBeingSentOrWasSentIsNotCalledOff(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	try := s.try()
	s.follow(s.del(path).wantRedirect(path)).contains("もう送っているか、終わっています。いまの状態を表示しています。")
	if err := s.Store.FinishTry(t.Context(), try, db.Result{Outcome: roster.Accepted, Status: 200}); err != nil {
		t.Fatal(err)
	}
	s.follow(s.del(path).wantRedirect(path)).contains("もう送っているか、終わっています。")
	s.wantState(1, roster.Sent, "")
}

func TestCallingOffANewVersionBringsBackTheOneBefore(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	s.get("/deliveries/2").contains("やめると、取りやめになっていた第1版を代わりに送ります。")
	s.del("/deliveries/2").wantRedirect("/deliveries/2")
	s.get("/deliveries/3").contains("2027年1月 第1版", "まもなく送ります")
}

// failedTwice is a school in which a month's announcement and a reminder were refused.
func failedTwice(t *testing.T) *schoolSite {
	t.Helper()
	s, _ := announced(t)
	s.finish(refused)
	s.Confirm(t, 0, 8, "16-18")
	s.finish(refused)
	return s
}

func TestAllThatFailedForOneReasonIsCountedAndThenRetried(t *testing.T) {
	t.Parallel()
	s := failedTwice(t)
	s.get("/deliveries?state=failed").contains("この理由の失敗2件を再送", `href="/retries/new?code=HTTP_400"`, `href="/deliveries?code=HTTP_400&amp;state=failed"`, "再送（14通）", "再送（1通）", `action="/deliveries/2/retries"`)
	s.get("/deliveries?state=failed&code=HTTP_400").contains("この理由の失敗2件を再送")
	s.get("/deliveries?state=failed&code=HTTP_500").lacks("この理由の失敗")
	s.get("/deliveries").lacks("この理由の失敗")
	body := s.get("/retries/new?code=HTTP_400").wantStatus(http.StatusOK).
		contains("この理由の失敗2件を再送しますか", "LINEが宛先を受け付けませんでした（400）。", "通数：15通", "2件を再送する（15通）", "送らない", `href="/deliveries?code=HTTP_400&amp;state=failed"`).lacks("含めません").body
	form := fields("code", "HTTP_400", "deliveries", "2", "messages", "15")
	for name := range form {
		if !strings.Contains(body, `name="`+name+`" value="`+form.Get(name)+`"`) {
			t.Errorf("the form does not send %s", name)
		}
	}
	for _, other := range [][]string{{"deliveries", "1"}, {"messages", "14"}, {"messages", "x"}} {
		s.post("/retries", with(form, other...)).wantStatus(http.StatusConflict).contains("見ていただいた内容から変わりました。まだ再送していません。", "2件を再送する（15通）", `role="alert"`)
		s.wantState(1, roster.Failed, "HTTP_400")
	}
	woken := s.woken.Load()
	s.follow(s.post("/retries", form).wantRedirect("/deliveries")).contains("再送を始めました。")
	if s.woken.Load() != woken+1 {
		t.Error("the runner was not woken")
	}
	s.wantState(1, roster.Queued, "")
	s.wantState(2, roster.Queued, "")
	// Pressed twice.
	s.post("/retries", form).wantStatus(http.StatusConflict).contains("いま再送できるものはありません", "配信の一覧へ").lacks("件を再送する（")
	if d := s.stored(1); d.Ladder != 2 {
		t.Errorf("it is on ladder %d", d.Ladder)
	}
	for _, code := range []string{"", "nonsense", "HTTP_", "HTTP_200"} {
		s.get("/retries/new?code=" + code).wantStatus(http.StatusNotFound)
	}
}

func TestRetryingManyLeavesOutWhatIsUnsureOrUnwanted(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	s.Publish(t)
	s.exhaust()
	s.Confirm(t, 0, 9, "16-18")
	s.later(22 * time.Hour)
	dbtest.Must(s.Store.MakeReminders(t.Context()))(t)
	s.finish(noAnswer)
	s.get("/retries/new?code=TIMEOUT").wantStatus(http.StatusOK).contains("いま再送できるものはありません", "届いているかもしれず、キーの期限も過ぎた1件は含めません。1件ずつ確かめてから再送してください。")
	s.get("/retries/new?code=TIMEOUT", "Accept-Language", "en").contains("There is nothing to retry now", "1 that may have arrived and whose key has run out is left out.")

	s = failedTwice(t)
	s.Clock.Advance(2 * time.Hour)
	s.get("/retries/new?code=HTTP_400").contains("この理由の失敗1件を再送しますか", "1件を再送する（14通）", "いまは正しくないか、もう要らない1件は含めません。")
	s.get("/deliveries?state=failed").contains("この理由の失敗1件を再送", "失敗</span> <strong>1</strong>", `<span class="count" aria-hidden="true">1</span>`)
}

func TestDeliveriesAreFoundByTeacherByDeadLetterAndByWhatMayHaveArrived(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.exhaust() // delivery 1: a dead letter that may have arrived
	s.Confirm(t, 0, 8, "19-21")
	s.finish(refused) // delivery 2: a reminder to 佐藤 花子
	s.Confirm(t, 1, 8, "19-21")
	s.finish(noAnswer) // delivery 3: a reminder to 鈴木 一郎, waits
	s.later(0)
	for query, want := range map[string][]string{
		"state=dead":             {"1"},
		"state=unknown":          {"1", "3"},
		"state=failed":           {"1", "2"},
		"teacher=佐藤":             {"2"},
		"teacher=佐藤花子":           {"2"},
		"teacher=佐藤　花":           {"2"},
		"teacher=%25":            {},
		"teacher=_":              {},
		"teacher=田":              {},
		"teacher=郎&state=queued": {"3"},
		"teacher=郎&state=sent":   {},
		"month=2027-01":          {"1", "2", "3"},
		"month=2027-02":          {},
		"kind=shift_reminder":    {"2", "3"},
	} {
		a := s.get("/deliveries?" + query).wantStatus(http.StatusOK)
		for _, id := range []string{"1", "2", "3"} {
			if got := strings.Contains(a.body, `<a href="/deliveries/`+id+`"`); got != slices.Contains(want, id) {
				t.Errorf("?%s shows delivery %s: %v", query, id, got)
			}
		}
	}
	s.get("/deliveries?teacher=佐藤").contains("1/8(金) 19:00–21:00 駅前教室", "佐藤 花子", `value="佐藤"`, `href="/deliveries?state=failed&amp;teacher=%E4%BD%90%E8%97%A4"`)
	s.get("/deliveries").contains("再送打ち切り</span> <strong>1</strong>", "届いたか不明</span> <strong>2</strong>", "失敗</span> <strong>2</strong>", "待ち</span> <strong>1</strong>")
	s.get("/deliveries?state=dead").contains("再送（14通）", "この理由の失敗1件を再送")
	// A fragment is the list alone.
	s.get("/deliveries?state=dead", s.byHTMX()...).contains(`id="deliveries"`, "再送（14通）").lacks("<html", "LINEとの接続")
}
