package linesim_test

import (
	"testing"

	"shiftpost/jobs/line/linesim"
)

func TestGroupsProfilesAndTheAccountAnswerAsLINEDoes(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	out := s.AddGroup(linesim.Group{Name: "ほか", Members: []string{s.users[0].ID}})
	stranger := s.AddUser(linesim.User{Name: "友だちでない 人"})
	if err := s.Join(s.group.ID, stranger.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Block(s.users[1].ID); err != nil {
		t.Fatal(err)
	}
	const notFound = `{"message":"Not found"}`
	badGroup, badUser := `{"message":"The value for the 'groupId' parameter is invalid"}`, `{"message":"The value for the 'userId' parameter is invalid"}`
	group := "/v2/bot/group/" + s.group.ID
	for _, c := range []struct {
		name, path string
		status     int
		body       string
	}{
		{"summary", group + "/summary", 200, `{"groupId":"` + s.group.ID + `","groupName":"みほん塾 講師連絡"}`},
		{"summary without the bot", "/v2/bot/group/" + out.ID + "/summary", 404, notFound},
		{"summary of nothing", "/v2/bot/group/" + nowhere + "/summary", 404, notFound},
		{"summary of a malformed id", "/v2/bot/group/x/summary", 400, badGroup},
		{"members, the bot not counted", group + "/members/count", 200, `{"count":4}`},
		{"members of a malformed id", "/v2/bot/group/" + nobody + "/members/count", 400, badGroup},
		{"a member", group + "/member/" + s.users[0].ID, 200, `{"displayName":"佐藤 花子","userId":"` + s.users[0].ID + `"}`},
		{"a member who is no friend", group + "/member/" + stranger.ID, 200, `{"displayName":"友だちでない 人","userId":"` + stranger.ID + `"}`},
		{"no member", group + "/member/" + nobody, 404, notFound},
		{"a malformed member", group + "/member/x", 400, badUser},
		{"member ids of an unverified account", group + "/members/ids", 403, `{"message":"Access to this API is not available for your account"}`},
		{"a friend", "/v2/bot/profile/" + s.users[0].ID, 200, `{"displayName":"佐藤 花子","language":"ja","userId":"` + s.users[0].ID + `"}`},
		{"a blocker", "/v2/bot/profile/" + s.users[1].ID, 404, notFound},
		{"a stranger", "/v2/bot/profile/" + stranger.ID, 404, notFound},
		{"a malformed user", "/v2/bot/profile/x", 400, badUser},
		{"the account", "/v2/bot/info", 200, `{"basicId":"@linesim","chatMode":"bot","displayName":"Shiftpost","markAsReadMode":"auto","userId":"` + s.Channel().BotUserID + `"}`},
		{"the quota", "/v2/bot/message/quota", 200, `{"type":"limited","value":200}`},
		{"the consumption", "/v2/bot/message/quota/consumption", 200, `{"totalUsage":0}`},
		{"what there is not", "/v2/bot/fax", 404, notFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.call(t, "GET", c.path, "").want(t, c.status, c.body)
			if a := s.call(t, "GET", c.path, "", "Authorization", ""); c.path != "/v2/bot/fax" && a.status != 401 {
				t.Errorf("without a token: %d", a.status)
			}
		})
	}
	s.SetQuota(-1)
	s.call(t, "GET", "/v2/bot/message/quota", "").want(t, 200, `{"type":"none"}`)
	s.call(t, "POST", group+"/leave", "").want(t, 200, "{}")
	s.call(t, "GET", group+"/summary", "").want(t, 404, notFound)
}

func TestALinkTokenIsForAFriend(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	var b struct{ LinkToken string }
	s.call(t, "POST", "/v2/bot/user/"+s.users[0].ID+"/linkToken", "").into(t, &b)
	if b.LinkToken == "" {
		t.Error("no token")
	}
	s.call(t, "POST", "/v2/bot/user/"+nobody+"/linkToken", "").want(t, 404, `{"message":"Not found"}`)
}

func TestTheQuotaOfAGroupPushFollowsItsMembers(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	for i, c := range []struct {
		change func() error
		used   int
	}{
		{func() error { return nil }, 3},
		{func() error { return s.Leave(s.group.ID, s.users[0].ID) }, 5},
		{func() error { return s.Join(s.group.ID, s.users[0].ID) }, 8},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		s.push(t, textTo(s.group.ID, string(rune('a'+i))), "")
		if _, used := s.Quota(); used != c.used {
			t.Errorf("step %d: %d used, want %d", i, used, c.used)
		}
	}
	s.AssertQuota(t)
}
