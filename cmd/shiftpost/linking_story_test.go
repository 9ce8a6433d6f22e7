package main

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/jobs/render/browsertest"
	"shiftpost/views"
)

// openInLINE is where LINE's browser goes when somebody opens a LIFF address in it.
func (s *demoStory) openInLINE(t *testing.T, name, address string) string {
	t.Helper()
	return strings.TrimSuffix(s.opened.Simulator, "/sim") + "/sim/open?" + url.Values{"as": {s.userID(t, name)}, "uri": {address}}.Encode()
}

func TestStoryAGroupAndATeacherFindTheirWayIn(t *testing.T) {
	t.Parallel()
	s := startStory(t)
	ctx := t.Context()
	groups, err := s.app.store.Groups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	browser := browsertest.Start(t)
	admin := browser.Tab(t, 1280, 900)
	admin.Open(s.opened.SignIn)
	admin.ClickOn("main form button")
	admin.Has(".places")

	// The account is removed from the old LINE group; the page waits, and shows a new one by itself.
	if err := s.sim.RemoveBot(groups[0].LINEGroupID); err != nil {
		t.Fatal(err)
	}
	if err := s.sim.FlushWebhooks(ctx); err != nil {
		t.Fatal(err)
	}
	admin.Open(s.opened.Admin + "/groups/1/line-group")
	admin.Sees("から外されています")
	admin.Sees("招待を待っています")
	admin.Shot("20-line-group-missing")
	var members []string
	for _, u := range s.sim.Users() {
		if u.Name != "他校 次郎" {
			members = append(members, u.ID)
		}
	}
	g := s.sim.AddGroup(linesim.Group{Name: "みほん塾 新しい講師連絡", Members: members})
	if err := s.sim.InviteBot(g.ID); err != nil {
		t.Fatal(err)
	}
	admin.Sees("みほん塾 新しい講師連絡")
	admin.Shot("21-line-group-new")
	admin.Click("駅前・本町グループとつなぐ")
	admin.Sees("とつなぎました")
	admin.Sees("いる講師")
	admin.Shot("22-line-group-tied")
	admin.Click("テストを送る（14通）")
	admin.Sees("LINEが受け付けました")
	admin.Shot("23-line-group-tested")
	if m := s.sim.Messages(g.ID); len(m) != 1 || !strings.Contains(m[0].Text(), "テストメッセージ") {
		t.Fatalf("the new group shows %d messages", len(m))
	}

	// Everybody who is not linked gets a card; one teacher gets an invitation of their own, which takes its place.
	admin.Open(s.opened.Admin + "/teachers")
	admin.Sees("未連携")
	admin.Shot("24-teachers")
	admin.Click("招待のQRコード")
	admin.Sees("渡邊 翔")
	admin.Shot("25-invitations-new")
	admin.Click("QRコードをつくる")
	admin.Has(".invitation-card .qr")
	admin.Shot("26-invitations-sheet")
	admin.Open(s.opened.Admin + "/teachers")
	admin.ClickOn(`a[aria-label*="渡邊 翔"]`)
	admin.Sees("まで使える招待があります")
	admin.Shot("27-teacher-invited")
	admin.Click("招待をつくり直す")
	admin.Has("#invitation")
	admin.Shot("28-invitation")
	invitation := browsertest.Value[string](admin, `document.getElementById("invitation").value`)

	phone := browser.Tab(t, 390, 844)
	phone.Open(s.openInLINE(t, "渡邊 翔", invitation))
	phone.Sees("渡邊 翔さんとして連携します")
	phone.Shot("30-invited")
	phone.Click("連携する")
	phone.Sees("渡邊 翔さんとして連携しました")
	phone.Sees("公式アカウントのトークに届きます")
	phone.Shot("31-linked")

	// The same paper in somebody else's hand is worth nothing.
	other := browser.Tab(t, 390, 844)
	other.Open(s.openInLINE(t, "他校 次郎", invitation))
	other.Sees("この招待はもう使われています")
	other.Shot("32-used")
	if shown := browsertest.Value[string](other, `document.body.innerText`); strings.Contains(shown, "渡邊") {
		t.Errorf("a stranger sees a teacher's name:\n%s", shown)
	}

	admin.Open(s.opened.Admin + "/teachers")
	admin.ClickOn(`a[aria-label*="渡邊 翔"]`)
	admin.Sees("に連携しました")
	admin.Shot("33-teacher-linked")

	// The table reaches the new group, and the teacher who was just linked opens it from there.
	month := roster.DateOf(s.app.store.Now(), s.app.store.Location()).MonthOf()
	admin.Open(s.opened.Admin + views.MonthPath(groups[0].ID, month) + "/publications/new")
	admin.Has("img[src*='/previews/']")
	admin.Sees("いる講師")
	admin.Shot("34-publish")
	admin.Click("第1版を公開して14通を送る")
	admin.Sees("送信済")
	messages := s.sim.Messages(g.ID)
	if len(messages) != 2 || len(messages[1].URIs()) != 1 {
		t.Fatalf("the new group shows %d messages, want the table as the second", len(messages))
	}
	phone.Open(s.openInLINE(t, "渡邊 翔", messages[1].URIs()[0]))
	phone.Sees("次の出勤")
	phone.Sees("渡邊 翔さん")

	// The teacher confirms; then a shift of theirs changes and the month is published anew, so that they have not.
	phone.ClickOn("#receipt button")
	phone.Sees("確認済")
	phone.Shot("37-confirmed")
	admin.Open(s.opened.Admin + "/publications/1/receipts")
	admin.Sees("1 / 14名")
	teachers, err := s.app.store.Teachers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sho := teachers[slices.IndexFunc(teachers, func(v roster.Teacher) bool { return v.Name == "渡邊 翔" })]
	shown, err := s.app.store.Month(ctx, groups[0].ID, month)
	if err != nil {
		t.Fatal(err)
	}
	shifts := slices.DeleteFunc(shown.Shifts, func(x roster.Shift) bool { return x.TeacherID != sho.ID || x.State != roster.ShiftConfirmed })
	x := shifts[len(shifts)-1]
	edit := db.ShiftEdit{TeacherID: x.TeacherID, ClassroomID: x.ClassroomID, Date: x.Date, Times: roster.TimeRange{Start: x.Times.Start, End: x.Times.End + 30}}
	if _, err := s.app.store.ChangeShift(ctx, x.ID, x.EditNumber, edit); err != nil {
		t.Fatal(err)
	}
	phone.Open(s.openInLINE(t, "渡邊 翔", messages[1].URIs()[0]))
	phone.Sees("確認のあとに、あなたのシフトが変わりました")
	phone.Shot("38-stale")
	admin.Open(s.opened.Admin + "/publications/1/receipts")
	admin.Sees("確認のあとに変更")
	admin.Open(s.opened.Admin + views.MonthPath(groups[0].ID, month) + "/publications/new")
	admin.Has("img[src*='/previews/']")
	admin.Click("第2版を公開して14通を送る")
	admin.Sees("送信済")
	phone.Open(s.openInLINE(t, "渡邊 翔", s.sim.Messages(g.ID)[2].URIs()[0]))
	phone.Sees("あなたの変更が 1件あります")
	phone.Sees("変更1件を確認します")
	phone.Shot("39-changed")

	// Whoever has not confirmed is asked to, after the admin saw who that is and what it costs.
	admin.Open(s.opened.Admin + "/publications/2/receipts")
	admin.Shot("40-receipts")
	admin.ClickOn(`a[href$="/receipt-requests/new"]`)
	admin.Sees("渡邊 翔さん")
	admin.Sees("送ったあとのLINEの残りは")
	admin.Shot("41-receipt-requests")
	admin.ClickOn(`form[action$="/receipt-requests"] button`)
	admin.Sees("確認のお願いを送り始めました")
	chat := s.phone(t, browser, "渡邊 翔")
	chat.Sees("「確認しました」を押してください")
	chat.Shot("42-asked")
	admin.Open(s.opened.Admin + "/publications/2/receipts")
	admin.Sees("お願い：送信済")
	admin.Shot("43-receipts-asked")

	phone.Click("LINE連携")
	phone.Sees("連携を解除する")
	phone.Shot("35-link")
	phone.Click("連携を解除する")
	phone.Sees("連携を解除しました")
	phone.Shot("36-unlinked")
	phone.Open(s.openInLINE(t, "渡邊 翔", messages[1].URIs()[0]))
	phone.Sees("講師だけが見られます")
}
