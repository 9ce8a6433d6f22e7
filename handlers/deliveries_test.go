package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// try begins the try that is due.
func (s *schoolSite) try() *db.Try {
	s.Helper()
	try := dbtest.Must(dbtest.ClaimTry(s.Context(), s.Store))(s)
	if try == nil {
		s.Fatal("no try is due")
	}
	return try
}

// finish makes the try that is due and notes what came of it.
func (s *schoolSite) finish(r db.Result) {
	s.Helper()
	try := s.try()
	s.Clock.Advance(400 * time.Millisecond)
	if err := s.Store.FinishTry(s.Context(), try, r); err != nil {
		s.Fatal(err)
	}
}

// send1 makes the try that is due, which LINE accepts.
func (s *schoolSite) send1() {
	s.Helper()
	s.finish(db.Result{Outcome: roster.Accepted, Status: 200, RequestID: "req-ok"})
}

// announced is a school whose month was published, and its delivery's address.
func announced(t *testing.T) (*schoolSite, string) {
	t.Helper()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	return s, "/deliveries/" + itoa(s.Publish(t).DeliveryID)
}

var (
	fault    = db.Result{Outcome: roster.Unknown, Code: "HTTP_503", Status: 503, RequestID: "req-503"}
	noAnswer = db.Result{Outcome: roster.Unknown, Code: roster.CodeTimeout}
	refused  = db.Result{Outcome: roster.Refused, Code: "HTTP_400", Status: 400, RequestID: "req-400", Message: "Failed to send messages"}
)

func TestDeliveryAnswersWhetherItArrived(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		story func(*schoolSite)
		has   []string
		lacks []string
		live  bool
	}{
		{"waiting for its turn", func(*schoolSite) {}, []string{"まもなく送ります", "保存し、送信待ちに入れた", "見本 室長さんの操作です。", "0 / 6回", "14通"}, []string{"キーの期限"}, true},
		{"on its way", func(s *schoolSite) { s.try() }, []string{"LINEに送っています", "LINEの返事を待っています。", "送信中"}, nil, true},
		{"accepted", func(s *schoolSite) { s.send1() }, []string{"送信済 14:32:00", "1回目の送信をLINEが受け付けました。届いたメッセージは1つだけです。", "リクエストID req-ok", "0.4秒", "不要"}, []string{"data-countdown"}, false},
		{"unknown", func(s *schoolSite) { s.finish(fault) }, []string{"再送を待っています", "LINEの障害で、届いたかどうか分かりません（503）。", "同じキーで送り直すので、二重には届きません。",
			`data-countdown="120"`, "2分0秒", "次は 14:34:00（2回目）", "1月9日(土) 14:22 までは同じキーで", "15:34ごろ", "1 / 6回", "待ち（再送）"}, nil, true},
		{"accepted before", func(s *schoolSite) {
			s.finish(noAnswer)
			s.Clock.Advance(2 * time.Minute)
			s.finish(db.Result{Outcome: roster.Accepted, Status: 409, RequestID: "req-409", AcceptedRequestID: "req-first"})
		}, []string{"LINEは前の送信を受け付けていました。届いたメッセージは1つだけです。", "LINEが「受付済み」と答えた（409）", "受付済みのリクエストID req-first", "返事なし", "409 受付済み"}, nil, false},
		{"refused", func(s *schoolSite) { s.finish(refused) }, []string{"届いていません", "LINEが宛先を受け付けませんでした（400）。", "もう一度送ってください。", "<q lang=\"en\">Failed to send messages</q>", "失敗"}, []string{"届いたかどうか分かりません"}, false},
		{"out of tries", func(s *schoolSite) {
			for range roster.MaxLadderTries {
				s.finish(noAnswer)
				s.Clock.Advance(time.Hour)
			}
		}, []string{"届いたかどうか分かりません", "LINEから返事がなく、届いたかどうかまだ分かりません。", "自動ではもう送りません。", "6 / 6回"}, []string{"不要"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, path := announced(t)
			c.story(s)
			a := s.get(path).wantStatus(http.StatusOK).contains(c.has...).lacks(c.lacks...)
			a.contains("2027年1月 第1版", `href="/publications/1"`, "グループ「みほん塾 講師連絡」14名", "2・4・8・16・32分あけて、最大6回")
			if live := strings.Contains(a.body, "hx-trigger"); live != c.live {
				t.Errorf("the page asks for itself: %v, want %v", live, c.live)
			}
			if body := s.get(path, "Accept-Language", "en").body; strings.ContainsAny(strings.NewReplacer("日本語", "", "見本 室長", "", "みほん塾 講師連絡", "", "駅前・本町グループ", "").Replace(body), "配信送試行待") {
				t.Errorf("the English page has Japanese words:\n%s", body)
			}
		})
	}
}

// asksFor is the address that a page asks for by itself, empty if it does not.
func (a *answer) asksFor() string {
	a.t.Helper()
	_, after, _ := strings.Cut(a.body, `hx-get="`)
	url, _, _ := strings.Cut(after, `"`)
	return strings.ReplaceAll(url, "&amp;", "&")
}

func TestDeliveryPageFollowsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	s, path := announced(t)
	url := s.get(path).asksFor()
	s.get(url, s.byHTMX()...).wantStatus(http.StatusNoContent)
	s.get(url).wantStatus(http.StatusOK)
	s.finish(fault)
	next := s.get(url, s.byHTMX()...).wantStatus(http.StatusOK).contains(`id="delivery"`, "再送を待っています", `<span id="delivery-said" hx-swap-oob="innerHTML">再送を待っています`).lacks("<html").asksFor()
	s.get(next, s.byHTMX()...).wantStatus(http.StatusNoContent)
	s.Clock.Advance(2 * time.Minute)
	s.send1()
	if last := s.get(next, s.byHTMX()...).wantStatus(http.StatusOK).contains("送信済").asksFor(); last != "" {
		t.Errorf("a delivery that ended still asks for %s", last)
	}
}

func TestUnknownDeliveryIsNotFound(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	for _, path := range []string{"/deliveries/1", "/deliveries/x", "/deliveries/0", "/publications/1", "/publications/x"} {
		s.get(path).wantStatus(http.StatusNotFound).contains("このページは見つかりません")
	}
}

func TestHeldDeliverySaysWhy(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.finish(db.Result{Outcome: roster.Refused, Code: "HTTP_401", Status: 401, Message: "Authentication failed", Hold: roster.HoldUnauthorized})
	s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	s.get("/deliveries/2").contains("LINEへの送信を止めています", "LINEが接続の鍵を受け付けないため、送信を止めています（401）", "次に確かめるのは 14:37 です。")
	s.get("/deliveries").contains("LINEが接続の鍵を受け付けないため、送信を止めています（401）")
}

func TestDeliveriesAreListedAndNarrowed(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get("/deliveries").contains("配信はまだありません").lacks("hx-trigger")
	s.Confirm(t, 0, 12, "17-2130")
	s.Publish(t)
	s.finish(refused)
	s.Clock.Advance(24 * time.Hour)
	s.signIn()
	s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	s.send1()
	s.Confirm(t, 2, 14, "17-2130")
	s.Publish(t)
	s.finish(fault)

	s.get("/deliveries").contains("第1版", "LINEが宛先を受け付けませんでした（400）。", "1/8(金) 14:32", "第2版", "今日 14:32", "第3版", "次は 14:34:", "新しい配信があるため、再送できません。", "待ち</span> <strong>1</strong>", `hx-trigger="every 5s"`).
		lacks("送信済</span> <strong>", "失敗</span> <strong>", "row-failed")
	for query, want := range map[string][3]bool{
		"":                        {true, true, true},
		"state=failed":            {true, false, false},
		"state=sent":              {false, true, false},
		"state=queued":            {false, false, true},
		"kind=shift_reminder":     {},
		"kind=shift_publication":  {true, true, true},
		"month=2027-01":           {true, true, true},
		"month=2027-02":           {},
		"code=HTTP_400":           {true, false, false},
		"state=sent&code=TIMEOUT": {},
		"before=3":                {true, true, false},
		"before=1":                {},
		"state=nonsense":          {true, true, true},
		"month=nonsense":          {true, true, true},
	} {
		body := s.get("/deliveries?" + query).wantStatus(http.StatusOK).body
		for i, number := range []string{"第1版", "第2版", "第3版"} {
			if got := strings.Contains(body, "2027年1月 "+number); got != want[i] {
				t.Errorf("?%s shows %s: %v, want %v", query, number, got, want[i])
			}
		}
		if want == [3]bool{} && query != "before=1" && !strings.Contains(body, "この条件に合う配信はありません") {
			t.Errorf("?%s does not say that there is none", query)
		}
	}
	s.get("/deliveries?state=failed&month=2027-01").contains(`<input type="hidden" name="state" value="failed">`, `<option value="2027-01" selected>`, `aria-current="true"`, `href="/deliveries?month=2027-01&amp;state=sent"`)
}

func TestDeliveriesArePagedByTheLastOneSeen(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	for n := range deliveriesOnPage + 2 {
		x := s.Confirm(t, n%3, 1+n%28, "1-2")
		s.Publish(t)
		dbtest.Must(s.Store.MoveShift(t.Context(), x.ID, x.EditNumber, roster.ShiftDeleted))(t)
	}
	s.get("/deliveries").contains("第52版", "第3版", `href="/deliveries?before=3"`).lacks("第2版<", `rel="prev"`)
	s.get("/deliveries?before=3").contains("第2版", "第1版", `rel="prev"`).lacks("第3版<", `rel="next"`)
}
