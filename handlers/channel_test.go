package handlers

import (
	"net/http"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/roster"
)

var (
	unauthorized = db.Result{Outcome: roster.Refused, Code: "HTTP_401", Status: 401, Message: "Authentication failed", Hold: roster.HoldUnauthorized}
	forbidden    = db.Result{Outcome: roster.Refused, Code: "HTTP_403", Status: 403, Message: "Not available", Hold: roster.HoldForbidden}
	overQuota    = db.Result{Outcome: roster.Refused, Code: "HTTP_429", Status: 429, Message: "You have reached your monthly limit.", Hold: roster.HoldMonthlyLimit}
)

func TestChannelPageSaysThatMessagesCanBeSent(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get("/channel").wantStatus(http.StatusOK).contains("LINEとの接続", "LINEに送れます", "自動の見回り", "リマインドと変更の知らせ", "まだ動いていません。サーバーの管理者に確かめてもらってください。").lacks("再開", "hx-trigger", "しばらく動いていません。")
	for name, n := range map[string]int{"reminders": 3, "recovery": 0} {
		if err := s.Store.RecordSweep(t.Context(), name, s.Store.Now(), n, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.get("/channel").contains("前回 14:32:00", "3件を確かめました。", "0件を動かしました。").lacks("しばらく動いていません。", "まだ動いていません。")
	s.Clock.Advance(31 * time.Minute)
	if err := s.Store.RecordSweep(t.Context(), "recovery", s.Store.Now(), 1, http.ErrServerClosed); err != nil {
		t.Fatal(err)
	}
	s.get("/channel").contains("しばらく動いていません。", "うまくいかなかったところがあります。").lacks("Server closed")
	s.get("/deliveries").contains(`href="/channel"`)
	s.get("/channel", "Accept-Language", "en").contains("Messages can be sent to LINE", "3 looked at.", "1 moved.")
}

func TestHoldIsShownWithWhatItKeepsBackAndEndedByAPerson(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.finish(forbidden)
	s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	s.Confirm(t, 0, 8, "16-18")
	s.get("/deliveries").contains("この公式アカウントの送信が許可されていないため、止めています（403）", "直したら「再開」を押してください。", "待っているもの：公開1件・個別の知らせ1件。", `<a href="/channel">くわしく・再開</a>`, "1月8日(金) 14:32 から。")
	s.get("/deliveries/3").contains("LINEへの送信を止めています", "待っているもの：公開1件・個別の知らせ1件。")
	s.get("/channel").wantStatus(http.StatusOK).contains("送信が許可されていないため", `href="/deliveries/1"`, "公開と個別の知らせ", "自動では確かめません", "公開1件・個別の知らせ1件", "を送ります（最大15通）", "再開して最大15通を送る",
		"直す前に再開すると、最初の1通が失敗して、また止まります。", `action="/channel/holds/forbidden"`, `name="_method" value="DELETE"`, `hx-trigger="every 5s"`).lacks("LINEに送れます", "この理由で失敗した")
	woken := s.woken.Load()
	s.follow(s.del("/channel/holds/forbidden").wantRedirect("/channel")).contains("送信を再開しました。", "LINEに送れます")
	if s.woken.Load() == woken {
		t.Error("the runner was not woken")
	}
	// Pressed twice.
	s.del("/channel/holds/forbidden").wantRedirect("/channel")
	s.try()
	s.del("/channel/holds/nonsense").wantStatus(http.StatusNotFound)
}

func TestEndOfAHoldTellsWhatFailedByItAndIsSentAgain(t *testing.T) {
	t.Parallel()
	s, _ := reminded(t)
	s.finish(unauthorized)
	s.Confirm(t, 1, 12, "17-2130")
	s.Publish(t)
	s.get("/channel").contains("LINEが接続の鍵を受け付けないため", "LINEに鍵を確かめます。", "1月8日(金) 14:37", "公開1件・個別の知らせ1件", "を送ります（最大15通）")
	s.del("/channel/holds/unauthorized").wantRedirect("/channel")
	s.wantState(1, roster.Queued, "")

	// An announcement that failed is only offered.
	s, _ = announced(t)
	s.finish(unauthorized)
	s.get("/channel").contains("ほかに、この理由で失敗した1件は自動では送りません。", `href="/deliveries?state=failed"`, "再開する").lacks("最大14通")
	s.del("/channel/holds/unauthorized").wantRedirect("/channel")
	s.wantState(1, roster.Failed, "HTTP_401")
}

func TestMonthlyHoldOfPublicationsLetsNoticesPass(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.finish(overQuota)
	s.Confirm(t, 0, 8, "16-18")
	s.get("/channel").contains("今月の通数が足りないため", "公開だけ（個別の知らせは送ります）", "残りの通数をLINEに確かめます。").lacks("個別の知らせ1件")
	s.get("/deliveries/2").lacks("今月の通数が足りないため").contains("まもなく送ります")
	s.finish(forbidden)
	s.get("/channel").contains("ほかの理由でも止まっているため、まだ送りません。")
}

func TestClockThatWentBackIsTrustedOnlyWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.finish(fault)
	s.Clock.Advance(-time.Hour)
	if err := s.Store.CheckClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.signIn()
	s.get("/channel").contains("サーバーの時計が遅れているため、送信を止めています", "時計がここまで進むと再開します。", "いまの時計が正しいときだけ再開してください。", "公開1件", "再開して最大14通を送る")
	s.follow(s.del("/channel/holds/clock").wantRedirect("/channel")).contains("LINEに送れます")
	s.finish(fault)
	next := s.stored(1).NextAttemptAt
	// Pressed twice it hurries nothing.
	s.del("/channel/holds/clock").wantRedirect("/channel")
	if got := s.stored(1).NextAttemptAt; !got.Equal(next) {
		t.Errorf("the next try was moved from %s to %s", next, got)
	}
}

func TestChannelPageFollowsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.finish(unauthorized)
	url := s.get("/channel").asksFor()
	s.get(url, s.byHTMX()...).wantStatus(http.StatusNoContent)
	s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	next := s.get(url, s.byHTMX()...).wantStatus(http.StatusOK).contains("公開1件", `id="channel"`).lacks("<html").asksFor()
	if err := s.Store.EndHold(t.Context(), roster.HoldUnauthorized); err != nil {
		t.Fatal(err)
	}
	if last := s.get(next, s.byHTMX()...).wantStatus(http.StatusOK).contains("LINEに送れます").asksFor(); last != "" {
		t.Errorf("with no hold the page still asks for %s", last)
	}
}
