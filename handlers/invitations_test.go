package handlers

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

// kenta is the LINE user of the school's third teacher, 髙橋 健太, who is not linked.
var kenta = dbtest.LINEUserID(3)

// teacherPath is the address of a teacher, by index.
func (s *lineSite) teacherPath(i int) string {
	return "/teachers/" + strconv.FormatInt(s.Teachers[i].ID, 10)
}

// invite makes the invitation of the third teacher as the admin does and returns its secret.
func (s *lineSite) invite() string {
	s.Helper()
	page := s.post(s.teacherPath(2)+"/invitations", fields()).wantStatus(http.StatusOK)
	return secretOf(s.T, page.body, s.site.liffURL())
}

// secretOf finds the only secret of an invitation in a page.
func secretOf(t *testing.T, body, liff string) string {
	t.Helper()
	found := regexp.MustCompile(`value="`+regexp.QuoteMeta(liff)+`/invitations/([A-Z2-7]{26})"`).FindAllStringSubmatch(body, -1)
	if len(found) != 1 {
		t.Fatalf("%d links in\n%s", len(found), body)
	}
	return found[0][1]
}

// opens shows an invitation to a LINE user, as the viewer's script does.
func (s *lineSite) opens(b *browser, lineUser, token string) *answer {
	s.Helper()
	return b.post("/viewer/invitations", fields("id_token", s.sim.IDToken(lineUser, nil), "token", token))
}

// links confirms an invitation as a LINE user.
func (s *lineSite) links(b *browser, lineUser, token string) *answer {
	s.Helper()
	return b.post("/viewer/link", fields("id_token", s.sim.IDToken(lineUser, nil), "token", token))
}

func TestAnInvitationIsShownOnceWithItsCodeAndIsNowhereKept(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	s.get(s.teacherPath(2)+"/edit").contains("未連携", "招待をつくる").lacks("招待を取り消す")
	page := s.post(s.teacherPath(2)+"/invitations", fields()).wantStatus(http.StatusOK).
		contains("髙橋 健太さんの招待", `<svg class="qr"`, "1月22日(金) 14:32まで・1度だけ使えます", "いまだけ表示します")
	token := secretOf(t, page.body, s.site.liffURL())
	if got := page.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("the page may be kept: %q", got)
	}
	s.get(s.teacherPath(2)+"/edit").contains("1月22日(金) 14:32まで使える招待があります", "招待をつくり直す", "招待を取り消す").lacks(token)
	if strings.Contains(s.log.String(), token) {
		t.Error("the log tells the secret")
	}
	s.follow(s.del(s.teacherPath(2) + "/invitations").wantRedirect(s.teacherPath(2) + "/edit")).contains("招待を取り消しました").lacks("使える招待があります")
	s.opens(s.another(), kenta, token).wantStatus(http.StatusGone).contains("この招待は使えなくなりました").lacks("髙橋")

	// Who is linked already is not invited.
	s.post(s.teacherPath(0)+"/invitations", fields()).wantStatus(http.StatusConflict).contains("連携済・友だち").lacks("<svg class=\"qr\"")
}

func TestATeacherLinksByTheirInvitationAndIsSignedIn(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	token := s.invite()
	phone := s.another()
	// Before LINE vouches for anybody nobody is named.
	phone.get("/liff/invitations/" + token).wantStatus(http.StatusOK).lacks("髙橋")
	phone.post("/viewer/invitations", fields("token", token)).wantStatus(http.StatusUnauthorized).lacks("髙橋")
	s.opens(phone, kenta, token).wantStatus(http.StatusOK).contains("髙橋 健太さんとして連携します", "LINEの人3", "いつでも自分で解除できます")
	if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[2].ID))(t); v.Linked() {
		t.Fatal("looking at it links")
	}
	phone.get("/viewer/link").wantStatus(http.StatusUnauthorized)

	s.links(phone, kenta, token).wantStatus(http.StatusOK).contains("髙橋 健太さんとして連携しました", "公式アカウントのトークに届きます", `href="/liff/link"`)
	if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[2].ID))(t); v.LINEUserID != kenta || v.Blocked {
		t.Errorf("the teacher is %+v", v)
	}
	phone.get("/viewer/link").wantStatus(http.StatusOK).contains("髙橋 健太さんとして連携しています", "1月8日(金) 14:32から")
	s.get(s.teacherPath(2)+"/edit").contains("連携済・友だち", "1月8日(金) 14:32に連携しました", "連携を解除")

	// Opened once more it says what is so, to the one who used it; to another it is spent.
	s.opens(phone, kenta, token).wantStatus(http.StatusOK).contains("髙橋 健太さんとして連携しています")
	s.opens(s.another(), dbtest.LINEUserID(9), token).wantStatus(http.StatusGone).contains("この招待はもう使われています").lacks("髙橋")
	s.links(s.another(), dbtest.LINEUserID(9), token).wantStatus(http.StatusGone)
}

func TestAnInvitationThatCannotBeUsedSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil  func(s *lineSite)
		user   string
		status int
		words  string
		reason string
	}{
		"too old":              {func(s *lineSite) { s.Clock.Advance(roster.InvitationLife) }, kenta, http.StatusGone, "期限が切れています", "invitation_expired"},
		"replaced":             {func(s *lineSite) { s.invite() }, kenta, http.StatusGone, "使えなくなりました", "invitation_revoked"},
		"already somebody":     {func(*lineSite) {}, dbtest.LINEUserID(1), http.StatusConflict, "別の講師として連携しています", "invitation_taken"},
		"LINE says it expired": {func(s *lineSite) { s.fault(linesim.Fault{Kind: linesim.FaultExpired, Endpoint: "verify"}) }, kenta, http.StatusUnauthorized, "期限が切れました", "expired"},
		"LINE is down":         {func(s *lineSite) { s.fault(linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "verify", Status: 500}) }, kenta, http.StatusServiceUnavailable, "LINEに確かめられませんでした", "line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLineSite(t)
			token := s.invite()
			c.spoil(s)
			for _, a := range []*answer{s.opens(s.another(), c.user, token), s.links(s.another(), c.user, token)} {
				a.wantStatus(c.status).contains(c.words).lacks("髙橋", "佐藤")
				if got := a.header.Get(reasonHeader); got != c.reason {
					t.Errorf("the reason is %s, want %s", got, c.reason)
				}
			}
			if v := dbtest.Must(s.Store.Teacher(t.Context(), s.Teachers[2].ID))(t); v.Linked() {
				t.Error("it linked all the same")
			}
		})
	}
}

func TestGuessingInvitationsIsStoppedAfterAFewTries(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	token := s.invite()
	guesser := dbtest.LINEUserID(9)
	for range 5 {
		s.opens(s.another(), guesser, "AAAAAAAAAAAAAAAAAAAAAAAAAA").wantStatus(http.StatusNotFound).contains("この招待は見つかりません")
	}
	s.opens(s.another(), guesser, token).wantStatus(http.StatusTooManyRequests).contains("しばらく待ってください").lacks("髙橋")
	s.links(s.another(), guesser, token).wantStatus(http.StatusTooManyRequests)
	s.opens(s.another(), kenta, token).wantStatus(http.StatusOK)
	s.Clock.Advance(15 * time.Minute)
	s.opens(s.another(), guesser, token).wantStatus(http.StatusOK)
}

func TestWhoIsNoFriendOfTheAccountIsToldWhenLinking(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	if err := s.sim.Block(kenta); err != nil {
		t.Fatal(err)
	}
	token, phone := s.invite(), s.another()
	s.links(phone, kenta, token).wantStatus(http.StatusOK).
		contains("このままでは、お知らせが届きません", `href="https://line.me/R/ti/p/`+url.QueryEscape(s.sim.Channel().BasicID)+`"`)
	s.get("/teachers").contains("ブロック中")
	phone.post("/viewer/friendship", fields()).wantStatus(http.StatusOK).contains("このままでは")
	if err := s.sim.Follow(kenta); err != nil {
		t.Fatal(err)
	}
	phone.post("/viewer/friendship", fields()).wantStatus(http.StatusOK).contains("公式アカウントのトークに届きます").lacks("このままでは")
	s.get("/teachers").lacks("ブロック中")
	s.fault(linesim.Fault{Kind: linesim.FaultStatus, Endpoint: "profile", Status: 500})
	phone.post("/viewer/friendship", fields()).wantStatus(http.StatusOK).contains("公式アカウントのトークに届きます")
}

func TestATeacherEndsTheirLinkThemselves(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	token, phone := s.invite(), s.another()
	s.links(phone, kenta, token).wantStatus(http.StatusOK)
	phone.get("/viewer/link").contains("連携を解除する", "教室長の招待が要ります")
	phone.del("/viewer/link").wantStatus(http.StatusOK).contains("連携を解除しました").lacks("髙橋")
	phone.get("/viewer/link").wantStatus(http.StatusUnauthorized)
	phone.post("/viewer/session", fields("id_token", s.sim.IDToken(kenta, nil))).wantStatus(http.StatusForbidden)
	s.get(s.teacherPath(2)+"/edit").contains("未連携", "招待をつくる")
	// The invitation is spent; a new one links anew.
	s.opens(s.another(), kenta, token).wantStatus(http.StatusGone)
	s.links(s.another(), kenta, s.invite()).wantStatus(http.StatusOK)
}

func TestAnAdminEndsALinkAndItsSessionsAtOnce(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	phone := s.another()
	phone.post("/viewer/session", fields("id_token", s.sim.IDToken(dbtest.LINEUserID(1), nil))).wantStatus(http.StatusNoContent)
	s.follow(s.del(s.teacherPath(0)+"/link").wantRedirect(s.teacherPath(0)+"/edit")).contains("佐藤 花子さんのLINE連携を解除しました", "招待をつくる")
	phone.get("/viewer/link").wantStatus(http.StatusForbidden)
}

func TestTheSheetOfInvitationsHasACardForEverybodyChosen(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	if err := s.Store.UnlinkTeacher(t.Context(), s.Teachers[1].ID); err != nil {
		t.Fatal(err)
	}
	earlier := s.invite()
	id := func(i int) string { return strconv.FormatInt(s.Teachers[i].ID, 10) }
	s.get("/teachers").contains(`href="/invitations/new"`)
	s.get("/invitations/new").contains("鈴木 一郎", "髙橋 健太", "1月22日(金) 14:32まで使える招待があります", "前に渡したQRコードとリンクは使えなくなります").lacks("佐藤 花子")
	s.post("/invitations", fields()).wantStatus(http.StatusUnprocessableEntity).contains("招待する人を1人以上選んでください")
	s.post("/invitations", fields("teacher", id(0))).wantStatus(http.StatusUnprocessableEntity) // linked
	sheet := s.post("/invitations", url.Values{"teacher": {id(1), id(2), "999", "x"}}).wantStatus(http.StatusOK).
		contains("鈴木 一郎さん", "髙橋 健太さん", "data-prints").lacks("佐藤 花子", s.site.liffURL()+"/invitations/")
	if n := strings.Count(sheet.body, `<svg class="qr"`); n != 2 {
		t.Errorf("%d codes are on the sheet", n)
	}
	s.opens(s.another(), kenta, earlier).wantStatus(http.StatusGone)
}

func TestWithoutALIFFAppNobodyIsInvited(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	s.site.viewer.LIFFID = ""
	s.get(s.teacherPath(2) + "/edit").contains("LIFF IDを入れてください").lacks("招待をつくる")
	s.post(s.teacherPath(2)+"/invitations", fields()).wantStatus(http.StatusConflict)
	s.post("/invitations", fields("teacher", strconv.FormatInt(s.Teachers[2].ID, 10))).wantStatus(http.StatusConflict)
	if open := dbtest.Must(s.Store.OpenInvitations(t.Context()))(t); len(open) != 0 {
		t.Errorf("invitations were made: %v", open)
	}
}

func TestEveryRouteOfTheViewerTurnsAwayWhoIsNotATeacher(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	s.invite()
	found := 0
	for _, r := range s.site.echo.Routes() {
		if !strings.HasPrefix(r.Path, "/viewer") || r.Method == http.MethodHead {
			continue
		}
		found++
		path := strings.NewReplacer(":documentId", "x", ":page", "1", "*", "x").Replace(r.Path)
		for name, b := range map[string]*browser{"nobody": s.another(), "an unlinked LINE user": s.unlinked()} {
			a := b.send(r.Method, path, nil)
			if a.status != http.StatusUnauthorized && a.status != http.StatusForbidden {
				t.Errorf("%s %s answers %s with %d", r.Method, r.Path, name, a.status)
			}
			a.lacks("佐藤", "鈴木", "髙橋", s.Group.Name)
		}
	}
	if found < 12 {
		t.Errorf("only %d routes of the viewer exist", found)
	}
}

// unlinked returns a browser in which LINE vouched for somebody who is no teacher.
func (s *lineSite) unlinked() *browser {
	s.Helper()
	b := s.another()
	b.post("/viewer/session", fields("id_token", s.sim.IDToken(dbtest.LINEUserID(9), nil))).wantStatus(http.StatusForbidden)
	return b
}
