package handlers

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render/browsertest"
)

// inLINE is where LINE's browser goes when somebody opens a LIFF address in it.
func (s *lineSite) inLINE(lineUser, address string) string {
	return s.sim.BaseURL() + "/sim/open?" + url.Values{"as": {lineUser}, "uri": {address}}.Encode()
}

// newcomer makes a teacher who is not linked, and a LINE user for them who has blocked the account.
func (s *lineSite) newcomer(name string) (teacherPath, lineUser string) {
	s.Helper()
	v := dbtest.Must(s.Store.CreateTeacher(s.Context(), db.TeacherEdit{ClassroomID: s.Classrooms[1].ID, Name: name, NoticesOn: true}))(s)
	u := s.sim.AddUser(linesim.User{Name: name, Friend: true, Blocked: true})
	return "/teachers/" + strconv.FormatInt(v.ID, 10) + "/edit", u.ID
}

func TestLinkingScreensFitEveryWindowAndReader(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	ctx := t.Context()
	dbtest.Must(s.Store.CreateGroup(ctx, db.GroupEdit{Name: "とても長い名前の南口・中央・西口グループ", LeadMinutes: 135}))(t)
	left := dbtest.Must(s.Store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: s.Classrooms[0].ID, Name: "退職 済子", NoticesOn: true}))(t)
	if err := s.Store.LinkTeacher(ctx, left.ID, dbtest.LINEUserID(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.ArchiveTeacher(ctx, left.ID); err != nil {
		t.Fatal(err)
	}
	s.joined(7, "みほん塾の講師みんなの連絡用グループ（南口・中央・西口）", 9)
	s.Confirm(t, 0, 8, "17:00-21:30")
	s.Publish(t)
	s.site.renderer = lazyDrawer{}
	s.everyWindow(func(t *testing.T, w *window) {
		path, user := s.newcomer("マリア・フェルナンデス")
		words := func(ja, en string) string {
			if w.english {
				return en
			}
			return ja
		}
		w.enter()
		w.suitsAt("/settings", "/groups", "/groups/1/line-group", "/groups/2/line-group", "/teachers", "/teachers/1/edit", "/invitations/new")
		// Only their own: the other windows use theirs at the same time.
		w.Script(`document.querySelectorAll("[name=teacher]").forEach((e) => { e.checked = "/teachers/" + e.value + "/edit" === "` + path + `"; })`)
		w.ClickOn("main form .button-primary")
		w.Has(".invitation-card .qr")
		w.suits("invitations")
		w.to("/groups/1/line-group")
		w.ClickOn("#test form button")
		w.Has(`#test [role="status"] .notice`)
		w.suits("line-group-tested")
		w.to(path)
		w.Click(words("招待をつくり直す", "Make a new invitation"))
		w.Has("#invitation")
		w.suits("invitation")
		invitation := browsertest.Value[string](w.Tab, `document.getElementById("invitation").value`)
		w.to(path)
		w.suits("teacher-invited")

		w.Open(s.inLINE(user, invitation))
		w.Has(".viewer-link form")
		w.suits("viewer-invited")
		w.ClickOn(".viewer-link form button")
		w.Has("#reach .notice")
		w.suits("viewer-linked")
		w.Open(s.inLINE(user, s.site.liffURL()+"/link"))
		w.Has(".viewer-link-end")
		w.suits("viewer-link")
		w.Open(s.inLINE(dbtest.LINEUserID(9), invitation))
		w.Has(".viewer-problem")
		w.suits("viewer-invitation-used")
	})
}

func TestAnInvitationIsCopiedAndABlockedAccountIsBefriendedInPlace(t *testing.T) {
	t.Parallel()
	s := newLineSite(t)
	path, user := s.newcomer("渡邊 翔")
	w := s.open(t, 390, 844)
	w.WatchErrors()
	w.enter()
	w.to(path)
	w.Click("招待をつくる")
	w.Has("#invitation")
	invitation := browsertest.Value[string](w.Tab, `document.getElementById("invitation").value`)
	if !strings.HasPrefix(invitation, s.site.liffURL()+"/invitations/") {
		t.Fatalf("the link is %s", invitation)
	}
	w.Script(`navigator.clipboard.writeText = (words) => { window.copied = words; return Promise.resolve(); }`)
	w.Click("写す")
	w.Sees("写しました")
	if got := browsertest.Value[string](w.Tab, `window.copied`); got != invitation {
		t.Errorf("copied %s", got)
	}
	if wrong := w.Errors(); len(wrong) > 0 {
		t.Errorf("on the page: %v", wrong)
	}

	// LINE's browser still holds an expired token: the page has it renewed, and is about the same invitation again.
	s.fault(linesim.Fault{Kind: linesim.FaultExpired, Endpoint: "verify", Count: 1})
	w.Open(s.inLINE(user, invitation))
	w.Sees("渡邊 翔さんとして連携します")
	w.ClickOn(".viewer-link form button")
	w.Sees("このままでは、お知らせが届きません")
	if wrong := w.Errors(); len(wrong) > 0 {
		t.Errorf("in the viewer: %v", wrong)
	}
	w.Click("友だちに追加する") // LINE asks within its own browser
	w.Sees("公式アカウントのトークに届きます")
	s.get("/teachers").wantStatus(http.StatusOK).lacks("ブロック中")
}
