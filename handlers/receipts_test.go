package handlers

import (
	"net/http"
	"testing"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// digest is that of whom asking for the confirmations of the first publication would reach now.
func (s *schoolSite) digest() string {
	s.Helper()
	return dbtest.Must(s.Store.PlanReceiptRequests(s.Context(), 1))(s).Digest()
}

func TestWhoHasStillToConfirmIsAskedAfterAQuestionThatNamesThemAndTheCost(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	for i := range s.Teachers {
		s.Confirm(t, i, 20, "17-2130")
	}
	s.Publish(t)
	s.send1()
	s.get("/publications/1/receipts").contains("未確認の2名に知らせる（2通）", `href="/publications/1/receipt-requests/new"`)
	s.get("/publications/1/receipt-requests/new").wantStatus(http.StatusOK).
		contains("未確認の2名に知らせますか", "佐藤 花子さん、", "鈴木 一郎さん", "それぞれのトークに「確認のお願い」を送ります。", "通数：2通", "髙橋 健太さんには送れません（未連携）", "2名に送る（2通）", `name="shown" value="`+s.digest()+`"`)

	// What is no longer so is shown again and sends nothing.
	s.post("/publications/1/receipt-requests", fields("shown", "something else")).wantStatus(http.StatusConflict).contains(`role="alert"`, "いまの操作では送っていません", "2名に送る（2通）")
	woken := s.woken.Load()
	form := fields("shown", s.digest())
	s.follow(s.post("/publications/1/receipt-requests", form).wantRedirect("/publications/1/receipts")).contains("2名への確認のお願いを送り始めました。", "お願い：待ち 1月8日(金) 14:32", "知らせられない理由を見る")
	if s.woken.Load() != woken+1 {
		t.Error("the runner was not woken")
	}
	s.post("/publications/1/receipt-requests", form).wantStatus(http.StatusConflict).contains("いま知らせる人はいません", "2名には、いま送っているところです。")
	if n := len(dbtest.Must(s.Store.ReceiptRequests(t.Context(), 1))(t)); n != 2 {
		t.Fatalf("%d were asked, want 2", n)
	}
	s.get("/deliveries").contains("確認のお願い", "佐藤 花子", "2027年1月 第1版")
	s.get("/deliveries?kind=receipt_request&month=2027-01").contains("鈴木 一郎")
	s.get("/deliveries/2").contains("確認のお願い", "佐藤 花子", `href="/publications/1"`, "2027年1月 第1版").lacks("公開（更新）")
	s.send1()
	s.send1()
	s.get("/publications/1/receipts").contains("お願い：送信済 1月8日(金) 14:32", "未確認の2名に知らせる（2通）")
	s.get("/publications/1/receipt-requests/new").contains("うち2名には前にも送りました（最後は 1月8日(金) 14:32）。")
	s.get("/deliveries/2").contains("確認した人を見る", `href="/publications/1/receipts"`)

	s.Confirm(t, 0, 21, "17-2130")
	s.Publish(t)
	s.get("/publications/1/receipts").lacks("receipt-requests")
	s.get("/publications/1/receipt-requests/new").contains("この版はいちばん新しい版ではないため、もう確認できません。").lacks(`action="/publications/1/receipt-requests"`)
	s.post("/publications/1/receipt-requests", form).wantStatus(http.StatusConflict)
	s.get("/publications/9/receipt-requests/new").wantStatus(http.StatusNotFound)
	s.post("/publications/9/receipt-requests", form).wantStatus(http.StatusNotFound)
}

func TestAFailedRequestToConfirmIsNamedOnTheHomePageAndRetried(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 20, "17-2130")
	s.Publish(t)
	s.send1()
	s.post("/publications/1/receipt-requests", fields("shown", s.digest())).wantRedirect("/publications/1/receipts")
	s.finish(refused)
	s.get("/").contains("佐藤 花子さんに確認のお願いが届いていません", "2027年1月 第1版")
	s.get("/deliveries/2").contains("再送（1通）")
	s.post("/deliveries/2/retries", nil).wantRedirect("/deliveries/2")
	s.follow(s.post("/deliveries/2/retries", nil).wantRedirect("/deliveries/2")).contains("まもなく送ります")
	if d := dbtest.Must(s.Store.Delivery(t.Context(), 2))(t); d.State != roster.Queued {
		t.Errorf("after the retry it is %s", d.State)
	}
}

func TestAnOlderRequestToConfirmIsNotRetriedBesideANewerOne(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 20, "17-2130")
	s.Publish(t)
	s.send1()
	for range 2 {
		s.post("/publications/1/receipt-requests", fields("shown", s.digest())).wantRedirect("/publications/1/receipts")
		s.finish(refused)
	}
	s.get("/deliveries/2").contains("新しい配信があるため、再送できません。")
	s.post("/deliveries/2/retries", nil).wantStatus(http.StatusConflict).contains("新しい配信があるため、再送できません。")
	s.get("/retries/new?code=HTTP_400").contains("1件を再送する（1通）")
	s.post("/retries", fields("code", "HTTP_400", "deliveries", "1", "messages", "1")).wantRedirect("/deliveries")
}
