package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/files"
	"shiftpost/db/roster"
	"shiftpost/jobs/render"
)

// publishing is the address of the publish page.
func (s *schoolSite) publishing() string { return s.month() + "/publications/new" }

// shown draws the month as it is and returns the hash that its publish form sends.
func (s *schoolSite) shown() string {
	s.Helper()
	body := s.get(s.publishing() + "?wait").wantStatus(http.StatusOK).body
	_, after, ok := strings.Cut(body, `name="sheet_hash" value="`)
	if !ok {
		s.Fatalf("no publish form in\n%.3000s", body)
	}
	hash, _, _ := strings.Cut(after, `"`)
	return hash
}

// publish publishes the month as it is, through the pages.
func (s *schoolSite) publish(more ...string) *answer {
	s.Helper()
	return s.post(s.month()+"/publications", fields(append([]string{"sheet_hash", s.shown()}, more...)...))
}

// publications are those of the month, the newest first.
func (s *schoolSite) publications() []roster.Publication {
	s.Helper()
	return dbtest.Must(s.Store.Publications(s.Context(), s.Group.ID, s.Month))(s)
}

func TestPublishPageComesAtOnceAndThePicturesFollow(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	s.Confirm(t, 2, 13, "10-15")
	s.Draft(t, 1, 14, "10-15")
	s.get(s.publishing()).wantStatus(http.StatusOK).
		contains("画像をつくっています…（2枚）", `hx-get="/groups/1/months/2027-01/publications/new"`, `hx-trigger="load"`, "?wait=1", `aria-disabled="true">第1版を公開して14通を送る`).
		lacks("sheet_hash", "<img")
	if s.drawn.Load() != 0 {
		t.Error("the page waited for the pictures")
	}
	s.get(s.publishing(), s.byHTMX()...).wantStatus(http.StatusOK).
		contains("<img", `name="sheet_hash"`, "第1版を公開して14通を送る", "公開せずに戻る", "はじめての公開です", "シフト2件・講師2名・教室2か所",
			"グループ「みほん塾 講師連絡」14名", "髙橋 健太さん", "LINE未連携", "下書き1件", "1/14(木) 鈴木 一郎").
		lacks("<html", "hx-trigger")
	s.get(s.publishing()).contains("<img", `name="sheet_hash"`, "<html").lacks(`hx-trigger="load"`)
	if n := s.drawn.Load(); n != 2 {
		t.Errorf("%d pictures were drawn, want 2, once", n)
	}
}

func TestPreviewIsTheVeryPictureForAdminsAlone(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	url := "/previews/" + s.shown() + "/pages/1"
	a := s.get(url).wantStatus(http.StatusOK)
	picture, err := png.Decode(strings.NewReader(a.body))
	if err != nil || picture.Bounds().Dx() != 2160 || picture.Bounds().Dy() < 2160 {
		t.Fatalf("no picture of a month: %v %v", picture.Bounds(), err)
	}
	if got := a.header.Get("Content-Type") + " " + a.header.Get("Cache-Control"); got != "image/png private, no-cache" {
		t.Errorf("answered %q", got)
	}
	s.get(url, "If-None-Match", a.header.Get("ETag")).wantStatus(http.StatusNotModified)
	s.another().get(url).wantStatus(http.StatusSeeOther).lacks("PNG")
	for _, none := range []string{url[:len(url)-1] + "2", url[:len(url)-1] + "0", "/previews/" + strings.Repeat("0", 64) + "/pages/1", "/previews/x/pages/x"} {
		s.get(none).wantStatus(http.StatusNotFound)
	}
	p := s.publish().header.Get("Location")
	s.get(p).wantStatus(http.StatusOK)
	if published := s.get("/publications/1/pages/1"); published.body != a.body {
		t.Error("what was published is not the picture that was shown")
	}
	s.another().get("/publications/1/pages/1").wantStatus(http.StatusSeeOther).lacks("PNG")
	s.get("/publications/1/pages/2").wantStatus(http.StatusNotFound)
	s.get("/publications/9/pages/1").wantStatus(http.StatusNotFound)
}

func TestPublishingFreezesTheMonthAndWakesTheRunner(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Confirm(t, 0, 12, "17-2130")
	s.follow(s.publish().wantRedirect("/deliveries/1")).contains("グループへの公開の知らせ", "2027年1月 第1版", "まもなく送ります")
	if s.woken.Load() != 1 {
		t.Errorf("the runner was woken %d times", s.woken.Load())
	}
	s.get("/publications/1").contains("2027年1月 第1版", "見本 室長", "1月8日(金) 14:32", `href="/deliveries/1"`, "/publications/1/pages/1").lacks("新しい版があります")

	dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 12, "18-2130")))(t)
	s.get(s.publishing(), s.byHTMX()...).contains("先に確かめること", "第1版の送信がまだ終わっていません。")
	s.publish().wantRedirect("/deliveries/2")
	s.get("/publications/1").contains("新しい版があります", `href="/publications/2"`)
	s.get("/deliveries/1").contains("送るのを取りやめました", "新しい配信があるため、不要になりました。")
	s.get("/groups/1/publications").contains("2027年1月", "第2版", "第1版", "2027年2月", "取りやめ").lacks("2026年12月")
	s.get("/groups/1/publications?until=2026-12").contains("この期間に公開したものはありません。")
	s.get("/groups/1/publications?until=2026-13").wantStatus(http.StatusNotFound)
	s.get("/groups/9/publications").wantStatus(http.StatusNotFound)
}

func TestUpdateShowsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	moved := s.Confirm(t, 0, 12, "17-2130")
	gone := s.Confirm(t, 1, 13, "17-2130")
	s.Publish(t)
	s.send1()
	dbtest.Must(s.Store.ChangeShift(t.Context(), moved.ID, moved.EditNumber, s.Edit(t, 0, 12, "18-2130")))(t)
	dbtest.Must(s.Store.MoveShift(t.Context(), gone.ID, gone.EditNumber, roster.ShiftDeleted))(t)
	s.Confirm(t, 2, 14, "22-25")
	s.get(s.publishing()+"?wait").contains(
		"第2版（更新）", "変わったところ 3件", "第1版から・追加1 変更1 取消1",
		`<s class="strike">17:00–21:30</s>`, "<strong>18:00–21:30</strong>",
		`<s class="strike">17:00–21:30 駅前教室</s>`, "<strong>なし</strong>",
		"<strong>22:00–翌1:00 本町教室</strong>",
	).lacks("はじめての公開です", "第1版の送信がまだ")
	s.get(s.publishing()+"?wait", "Accept-Language", "en").contains("Version 2 (update)", "3 changes", "since version 1: 1 added, 1 changed, 1 removed", "Publish version 2 and send 14")
}

func TestMonthThatChangedSinceItWasShownIsNotPublished(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	x := s.Confirm(t, 0, 12, "17-2130")
	hash := s.shown()
	dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, s.Edit(t, 0, 12, "18-2130")))(t)
	for _, old := range []string{hash, "", strings.Repeat("0", 64)} {
		s.post(s.month()+"/publications", fields("sheet_hash", old)).wantStatus(http.StatusConflict).
			contains("見ていただいた内容から変わりました。まだ公開していません。", `hx-trigger="load"`).lacks("sheet_hash")
	}
	if len(s.publications()) != 0 || s.woken.Load() != 0 {
		t.Error("something was published")
	}
	s.publish().wantRedirect("/deliveries/1")
}

func TestMonthWithoutNewsIsNotPublishedTwice(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.get(s.publishing()).wantStatus(http.StatusOK).contains("1月には確定したシフトがまだありません")
	s.Draft(t, 0, 12, "10-12")
	s.post(s.month()+"/publications", fields("sheet_hash", "x")).wantStatus(http.StatusConflict).contains("1月には確定したシフトがまだありません", "下書きが1件あります。")
	s.Confirm(t, 1, 12, "17-2130")
	hash := s.shown()
	s.post(s.month()+"/publications", fields("sheet_hash", hash)).wantRedirect("/deliveries/1")
	for _, a := range []*answer{s.post(s.month()+"/publications", fields("sheet_hash", hash)).wantStatus(http.StatusConflict), s.get(s.publishing()).wantStatus(http.StatusOK)} {
		a.contains("前の版から変わっていません", "いまの内容は第1版と同じです。", `href="/publications/1"`, `href="/deliveries/1"`)
	}
	if n := len(s.publications()); n != 1 {
		t.Errorf("%d publications, want 1", n)
	}
}

func TestGroupWithoutLINEIsPublishedWithoutSending(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	g, room, teacher := s.elsewhere()
	e := s.Edit(t, 0, 12, "10-12")
	e.TeacherID, e.ClassroomID = teacher.ID, room.ID
	dbtest.Must(s.Store.AddShift(t.Context(), e, roster.ShiftConfirmed))(t)
	month := "/groups/" + itoa(g.ID) + "/months/2027-01"
	body := s.get(month+"/publications/new?wait").contains("LINE未接続のため送信されません（プレビューのみ）。", "第1版を公開する（送信なし）").lacks("通を送る").body
	_, hash, _ := strings.Cut(body, `name="sheet_hash" value="`)
	hash, _, _ = strings.Cut(hash, `"`)
	s.follow(s.post(month+"/publications", fields("sheet_hash", hash)).wantRedirect("/publications/1")).
		contains("第1版を公開しました。LINE未接続のため送信されません（プレビューのみ）。")
	if s.woken.Load() != 0 {
		t.Error("the runner was woken for nothing")
	}
}

func TestPictureThatCannotBeDrawnIsSaidPlainlyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		renderer func(*testing.T) Renderer
		sentence string
	}{
		{"Chrome is missing", func(t *testing.T) Renderer { return ownDrawer(t, render.Options{ChromePath: "/nowhere/chrome"}) }, "画像をつくるChromeが見つからないか、起動できません"},
		{"Chrome does not start", func(t *testing.T) Renderer { return ownDrawer(t, render.Options{ChromePath: "/bin/false"}) }, "画像をつくるChromeが見つからないか、起動できません"},
		{"it takes too long", func(t *testing.T) Renderer { return ownDrawer(t, render.Options{Timeout: time.Nanosecond}) }, "画像が時間内にできあがりませんでした"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, c.renderer(t))
			s.Confirm(t, 0, 12, "17-2130")
			s.get(s.publishing()).wantStatus(http.StatusOK)
			s.get(s.publishing()+"?wait").wantStatus(http.StatusServiceUnavailable).
				contains(c.sentence, "まだ何も公開していません。", "もう一度", "問い合わせ番号", "画像がないため、公開できません。").lacks("sheet_hash", "<img", "/nowhere")
			a := s.get(s.publishing(), s.byHTMX()...).wantStatus(http.StatusServiceUnavailable).contains(c.sentence)
			if a.header.Get("HX-Retarget") != "#publish" {
				t.Error("htmx is not told where to show it")
			}
			s.nothingStored(t)
			if !strings.Contains(s.log.String(), "level=ERROR") {
				t.Error("the log has nothing of it")
			}
		})
	}
}

// nothingStored checks that no picture is kept, neither in the database nor on disk.
func (s *schoolSite) nothingStored(t *testing.T) {
	t.Helper()
	if p := dbtest.Must(s.Store.Preview(t.Context(), s.Group.ID, s.Month))(t); len(p.Pages) > 0 {
		t.Errorf("pages are kept: %v", p.Pages)
	}
	if entries := dbtest.Must(os.ReadDir(s.dir))(t); len(entries) > 0 {
		t.Errorf("files are kept: %v", entries)
	}
}

func TestFullDiskIsSaidPlainlyAndPublishesNothing(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	if err := s.files.Close(); err != nil {
		t.Fatal(err)
	}
	s.get(s.publishing() + "?wait").wantStatus(http.StatusServiceUnavailable).contains("画像を保存できませんでした")
	s.nothingStored(t)
}

func TestManyWhoAskForTheSamePictureWaitForOne(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { s.get(s.publishing(), s.byHTMX()...).wantStatus(http.StatusOK).contains("<img") })
	}
	all.Wait()
	if n := s.drawn.Load(); n != 1 {
		t.Errorf("%d pictures were drawn, want 1", n)
	}
}

func TestPreviewWhosePictureIsGoneIsDrawnAgain(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	hash := s.shown()
	page := dbtest.Must(s.Store.PreviewPages(t.Context(), hash))(t)[0]
	if err := os.Remove(s.files.Path(page.SHA256)); err != nil {
		t.Fatal(err)
	}
	s.get(s.publishing()).contains(`hx-trigger="load"`).lacks("<img")
	if s.shown() != hash {
		t.Error("the month is another one")
	}
	s.get("/previews/" + hash + "/pages/1").wantStatus(http.StatusOK)
}

func TestDamagedPictureIsNeverShown(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	s.Confirm(t, 0, 12, "17-2130")
	s.publish().wantStatus(http.StatusSeeOther)
	key := s.publications()[0].ID
	p := dbtest.Must(s.Store.Publication(t.Context(), key))(t)
	path := s.files.Path(p.Pages[0].SHA256)
	whole := dbtest.Must(os.ReadFile(path))(t)
	if err := os.WriteFile(path, append(bytes.Clone(whole[:len(whole)-1]), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	s.get("/publications/1/pages/1").wantStatus(http.StatusInternalServerError).contains("画像を読み出せませんでした", "問い合わせ番号").lacks("PNG")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s.get("/publications/1/pages/1").wantStatus(http.StatusInternalServerError).contains("画像を読み出せませんでした")
	s.get("/publications/1").wantStatus(http.StatusOK)
}

func TestOnlyAWholePictureOfASheetsWidthIsKept(t *testing.T) {
	t.Parallel()
	picture := func(width, height int) render.Image {
		t.Helper()
		m := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White})
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return render.Image{PNG: b.Bytes(), Width: width, Height: height}
	}
	good := picture(2160, 3000)
	if err := checkPicture(good); err != nil {
		t.Errorf("a good picture is refused: %v", err)
	}
	cut, big, lied := good, good, good
	cut.PNG = good.PNG[:len(good.PNG)-4]
	big.PNG = append(bytes.Clone(good.PNG), make([]byte, maxPictureBytes)...)
	lied.Height++
	for name, bad := range map[string]render.Image{
		"nothing": {}, "no PNG": {PNG: []byte("<html>"), Width: 2160, Height: 3000}, "narrow": picture(1080, 3000), "cut off": cut, "too big": big, "another height": lied,
	} {
		if err := checkPicture(bad); !errors.Is(err, errPicture) {
			t.Errorf("%s: error %v, want %v", name, err, errPicture)
		}
	}
}

func TestEachFailureToDrawHasItsSentence(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, err := range []error{render.ErrNoChrome, render.ErrTimeout, render.ErrCrashed, render.ErrTooBig, render.ErrFont, render.ErrClosed, errPicture, errStoring, files.ErrDamaged} {
		key := renderFailure(fmt.Errorf("draw page 1: %w", err))
		if seen[key] {
			t.Errorf("%v is told as another error is: %s", err, key)
		}
		seen[key] = true
	}
}

func TestPublicationWhoseRecordsWentDoesNotClaimThatItWasNeverSent(t *testing.T) {
	t.Parallel()
	s := longAgo(t)
	list := "/groups/1/publications?until=2027-05"
	s.get("/publications/2").contains(`href="/deliveries/2"`, "前に送ったものが届いているため、先に確かめます。").lacks("記録は残っていません")
	keep := func(months int) {
		t.Helper()
		kept := dbtest.Must(s.Store.Retention(t.Context()))(t)
		if err := s.Store.EditRetention(t.Context(), kept.EditNumber, db.RetentionEdit{Months: months, Confirmed: true, AdminID: s.Admin.ID}); err != nil {
			t.Fatal(err)
		}
	}
	keep(3)
	dbtest.Must(s.Store.Prune(t.Context()))(t)
	keep(0) // what is gone stays gone
	never := []string{"まだLINEグループに知らせていません。", "この版は、まだLINEグループに知らせていません。", "グループに知らせる（"}
	question := []string{"第2版をもう一度送りますか", "この版を送った記録は残っていません。もう届いているかもしれません。", "届いていた場合、同じ内容が2つ届きます。", "もう一度14通を送る"}
	s.get("/publications/2").wantStatus(http.StatusOK).contains("この版の配信の記録は残っていません。古い記録は、設定で決めた期間を過ぎると消えます。",
		"もう一度送る（14通）", "前に送った記録が残っていないため、先に確かめます。").contains(question...).lacks(never...)
	s.get("/publications/2", "Accept-Language", "en").contains("No record of this version&#39;s deliveries is left.").lacks("has not been told")
	s.get(list).contains("記録なし").lacks("送信なし")
	s.post("/publications/2/deliveries", fields("last_delivery", "0")).wantStatus(http.StatusConflict).contains(question...)
	month := "/groups/1/months/2027-01/publications/new?wait"
	s.get(month).contains("前の版から変わっていません").contains(question...).lacks(never...)

	s.Month = s.Month.Add(-4)
	s.Confirm(t, 2, 14, "10-15")
	s.get(month).contains("第2版を送った記録が残っていないため、変更の印は付きません。").lacks("はじめての公開です", "LINEグループに届いていないため")
	s.post("/publications/2/deliveries", fields("last_delivery", "0", "confirmed", "true")).wantRedirect("/deliveries/4")
	s.get("/publications/2").contains(`href="/deliveries/4"`).lacks("記録は残っていません")
	s.get("/publications/1").contains("この版の配信の記録は残っていません。")
	s.get(list).contains("記録なし")
}
