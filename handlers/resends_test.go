package handlers

import (
	"net/http"
	"testing"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

func TestPublicationThatArrivedIsSentAgainOnlyAfterAQuestion(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.get("/publications/1").contains("もう一度送る（14通）", "この月の送信が終わると、もう一度送れます。", " disabled").lacks(`action="/publications/1/deliveries"`)
	s.get("/publications/1/deliveries/new").wantRedirect("/publications/1")
	s.send1()
	question := []string{"第1版をもう一度送りますか", "この版は 1月8日(金) 14:32 に送ってあります。", "グループには、同じ内容がもう一度届きます。", "通数：14通", "送らない", "もう一度14通を送る", `name="last_delivery" value="1"`, `name="confirmed" value="true"`}
	s.get("/publications/1").contains(append(question, `data-opens="resend"`, `<dialog class="dialog" id="resend"`, `href="/publications/1/deliveries/new"`)...)
	s.get("/publications/1/deliveries/new").wantStatus(http.StatusOK).contains(append(question, "autofocus")...).lacks("<dialog")
	s.post("/publications/1/deliveries", fields("last_delivery", "1")).wantStatus(http.StatusConflict).contains(question...)
	woken := s.woken.Load()
	form := fields("last_delivery", "1", "confirmed", "true")
	s.follow(s.post("/publications/1/deliveries", form).wantRedirect("/deliveries/2")).contains("2027年1月 第1版", "まもなく送ります")
	if s.woken.Load() != woken+1 {
		t.Error("the runner was not woken")
	}
	// Pressed twice: one is enough.
	s.follow(s.post("/publications/1/deliveries", form).wantRedirect("/deliveries/2")).contains("この月の送信は、もう始まっています。")
	s.send1()
	s.post("/publications/1/deliveries", form).wantStatus(http.StatusConflict).contains(`role="alert"`, "この画面を開いたあとに、この月の別の配信が作られました。まだ送っていません。")
	if all := dbtest.Must(s.Store.PublicationDeliveries(t.Context(), 1))(t); len(all) != 2 {
		t.Errorf("there are %d deliveries, want 2", len(all))
	}
	s.post("/publications/9/deliveries", form).wantStatus(http.StatusNotFound)
	s.get("/publications/9/deliveries/new").wantStatus(http.StatusNotFound)
}

func TestPublicationThatFailedIsRetriedRatherThanSentAgain(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.exhaust()
	s.get("/publications/1").contains("失敗した配信を再送する", `href="/deliveries/1"`, "同じキーで送り直すので、もう届いていても二重にはなりません。", "1月8日(金) 17:12 の送信は、もう届いているかもしれません。", `data-opens="resend"`)

	// What was refused can go again without a question.
	s, _ = announced(t)
	s.finish(refused)
	s.get("/publications/1").contains(`action="/publications/1/deliveries"`, "もう一度送る（14通）", "失敗した配信を再送する").lacks("<dialog")
	s.post("/publications/1/deliveries", fields("last_delivery", "1")).wantRedirect("/deliveries/2")
}

func TestOlderVersionAndGroupWithoutLINEAreNotSentAgain(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.send1()
	s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	s.send1()
	s.get("/publications/1").contains("新しい版があるため、この版はもう送れません。").lacks(`data-opens="resend"`)
	s.post("/publications/1/deliveries", fields("last_delivery", "2", "confirmed", "true")).wantStatus(http.StatusConflict).contains(`role="alert"`, "新しい版があるため、この版はもう送れません。")
	s.get("/publications/2").contains(`data-opens="resend"`)
}

func TestPublicationMadeWithoutLINEIsAnnouncedOnceThereIsSome(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	g, room, teacher := s.elsewhere()
	e := s.Edit(t, 0, 12, "10-12")
	e.TeacherID, e.ClassroomID = teacher.ID, room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	other := *s.School
	other.Group = g
	other.Publish(t)
	s.get("/publications/1").contains("まだLINEグループに知らせていません。", "LINEグループとつながっていないため、送れません。つなぐと、ここから知らせられます。", "グループに知らせる")
	s.post("/publications/1/deliveries", fields("last_delivery", "0")).wantStatus(http.StatusConflict).contains("LINEグループとつながっていないため、送れません。")
	if err := s.Store.LinkGroup(t.Context(), g.ID, dbtest.LINEGroupID(2), "港 連絡", 3); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/publications/1", "/groups/" + itoa(g.ID) + "/months/2027-01/publications/new"} {
		s.get(path).contains("グループに知らせる（3通）", "この版は、まだLINEグループに知らせていません。", `action="/publications/1/deliveries"`, `name="last_delivery" value="0"`)
	}
	s.post("/publications/1/deliveries", fields("last_delivery", "0")).wantRedirect("/deliveries/1")
	s.follow(s.post("/publications/1/deliveries", fields("last_delivery", "0")).wantRedirect("/deliveries/1")).contains("この月の送信は、もう始まっています。")
}

func TestPublishingAMonthWithoutNewsOffersToSendItAgain(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	s.send1()
	s.get(s.publishing()).contains("前の版から変わっていません", "もう一度送る（14通）", `data-opens="resend"`, `name="last_delivery" value="1"`)
	s.get(s.publishing(), "Accept-Language", "en").contains("Send again (14 messages)", "Send version 1 again?", "Send 14 messages again")
}

func TestPublicationPageFollowsItsDeliveries(t *testing.T) {
	t.Parallel()
	s, _ := announced(t)
	url := s.get("/publications/1").asksFor()
	s.get(url, s.byHTMX()...).wantStatus(http.StatusNoContent)
	s.send1()
	if last := s.get(url, s.byHTMX()...).wantStatus(http.StatusOK).contains(`id="publication-deliveries"`, "送信済", "もう一度送る（14通）").lacks("<html", "<img").asksFor(); last != "" {
		t.Errorf("a publication that was sent still asks for %s", last)
	}
}
