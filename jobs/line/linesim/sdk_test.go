package linesim_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/line/line-bot-sdk-go/v8/linebot/channel_access_token"
	"github.com/line/line-bot-sdk-go/v8/linebot/liff"
	"github.com/line/line-bot-sdk-go/v8/linebot/messaging_api"
	"github.com/line/line-bot-sdk-go/v8/linebot/webhook"

	"shiftpost/jobs/line/linesim"
)

// officialClient is LINE's own client, pointed at the simulator.
func officialClient(t *testing.T, s *school) *messaging_api.MessagingApiAPI {
	t.Helper()
	api, err := messaging_api.NewMessagingApiAPI(s.Channel().AccessToken,
		messaging_api.WithEndpoint(s.BaseURL()), messaging_api.WithHTTPClient(&http.Client{Timeout: 10 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// flexBubble is a message as the product builds it, with the SDK's types and their zero values.
func flexBubble(uri string) *messaging_api.FlexMessage {
	return &messaging_api.FlexMessage{AltText: "1月のシフト表", Contents: &messaging_api.FlexBubble{
		Header: &messaging_api.FlexBox{Layout: messaging_api.FlexBoxLAYOUT_VERTICAL, BackgroundColor: "#0b2f57", Contents: []messaging_api.FlexComponentInterface{
			&messaging_api.FlexText{Text: "1月", Size: "xl", Weight: messaging_api.FlexTextWEIGHT_BOLD, Color: "#ffffff", Wrap: true},
		}},
		Body: &messaging_api.FlexBox{Layout: messaging_api.FlexBoxLAYOUT_HORIZONTAL, Contents: []messaging_api.FlexComponentInterface{
			&messaging_api.FlexText{Text: "版", Flex: 1}, &messaging_api.FlexSeparator{Margin: "md"}, &messaging_api.FlexText{Text: "第1版", Flex: 3},
		}},
		Footer: &messaging_api.FlexBox{Layout: messaging_api.FlexBoxLAYOUT_VERTICAL, Contents: []messaging_api.FlexComponentInterface{
			&messaging_api.FlexButton{Style: messaging_api.FlexButtonSTYLE_PRIMARY, Color: "#0055ad", Action: &messaging_api.UriAction{Label: "開く", Uri: uri}},
		}},
	}}
}

func TestLINEsOwnClientNoticesNoDifference(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{Login: linesim.Login{EndpointURL: "https://school.example/liff"}})
	api := officialClient(t, s)
	u := s.users[0].ID
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}

	text := messaging_api.TextMessage{Text: "x"}
	flex := flexBubble(s.LIFFBaseURL() + "/" + s.Login().LIFFID + "/documents/abc")
	push := &messaging_api.PushMessageRequest{To: s.group.ID, Messages: []messaging_api.MessageInterface{flex, text}}
	key := uuid.NewString()
	res, sent, err := api.PushMessageWithHttpInfo(push, key)
	must(err)
	if res.Header.Get("X-Line-Request-Id") == "" || len(sent.SentMessages) != 2 || sent.SentMessages[0].Id == "" || sent.SentMessages[0].QuoteToken == "" {
		t.Errorf("%+v", sent)
	}
	first := res.Header.Get("X-Line-Request-Id")
	res, _, err = api.PushMessageWithHttpInfo(push, key)
	if err == nil || res == nil || res.StatusCode != 409 || res.Header.Get("X-Line-Accepted-Request-Id") != first {
		t.Errorf("retry: %+v, %v", res, err)
	}
	_, err = api.PushMessage(&messaging_api.PushMessageRequest{To: u, Messages: []messaging_api.MessageInterface{text}}, "") // an empty key, as the SDK sends it
	must(err)
	_, err = api.ValidatePush(&messaging_api.ValidateMessageRequest{Messages: []messaging_api.MessageInterface{flex}})
	must(err)

	info, err := api.GetBotInfo()
	must(err)
	if info.UserId != s.Channel().BotUserID || info.ChatMode != messaging_api.BotInfoResponseCHAT_MODE_BOT || info.MarkAsReadMode != messaging_api.BotInfoResponseMARK_AS_READ_MODE_AUTO {
		t.Errorf("%+v", info)
	}
	quota, err := api.GetMessageQuota()
	must(err)
	used, err := api.GetMessageQuotaConsumption()
	must(err)
	if quota.Type != messaging_api.QuotaType_LIMITED || quota.Value != 200 || used.TotalUsage != 4 {
		t.Errorf("%+v %+v", quota, used)
	}
	summary, err := api.GetGroupSummary(s.group.ID)
	must(err)
	count, err := api.GetGroupMemberCount(s.group.ID)
	must(err)
	member, err := api.GetGroupMemberProfile(s.group.ID, u)
	must(err)
	profile, err := api.GetProfile(u)
	must(err)
	if summary.GroupName != s.group.Name || count.Count != 3 || member.DisplayName != "佐藤 花子" || profile.UserId != u || profile.Language != "ja" {
		t.Errorf("%+v %+v %+v %+v", summary, count, member, profile)
	}
	res, _, err = api.GetProfileWithHttpInfo(nobody)
	if err == nil || res.StatusCode != 404 {
		t.Errorf("nobody: %v", err)
	}
	res, _, err = api.GetGroupMembersIdsWithHttpInfo(s.group.ID, "")
	if err == nil || res.StatusCode != 403 {
		t.Errorf("member ids: %v", err)
	}
	link, err := api.IssueLinkToken(u)
	must(err)
	if link.LinkToken == "" {
		t.Error("no link token")
	}

	h := hookOf(t, s)
	_, err = api.SetWebhookEndpoint(&messaging_api.SetWebhookEndpointRequest{Endpoint: h.URL})
	must(err)
	where, err := api.GetWebhookEndpoint()
	must(err)
	if where.Endpoint != h.URL || !where.Active {
		t.Errorf("%+v", where)
	}
	trial, err := api.TestWebhookEndpoint(&messaging_api.TestWebhookEndpointRequest{})
	must(err)
	if !trial.Success || trial.StatusCode != 200 || !trial.Timestamp.Equal(noon) {
		t.Errorf("%+v", trial)
	}
	must(s.Say(s.group.ID, u, "やあ"))
	s.flush(t)
	event := h.calls[len(h.calls)-1].Events[0].(webhook.MessageEvent)
	answered, err := api.ReplyMessage(&messaging_api.ReplyMessageRequest{ReplyToken: event.ReplyToken, Messages: []messaging_api.MessageInterface{text}})
	must(err)
	if len(answered.SentMessages) != 1 {
		t.Errorf("%+v", answered)
	}
	_, err = api.LeaveGroup(s.group.ID)
	must(err)

	tokens, err := channel_access_token.NewChannelAccessTokenAPI(channel_access_token.WithEndpoint(s.BaseURL()))
	must(err)
	stateless, err := tokens.IssueStatelessChannelToken("client_credentials", "", "", s.Channel().ID, s.Channel().Secret)
	must(err)
	if stateless.TokenType != "Bearer" || stateless.ExpiresIn != 900 {
		t.Errorf("%+v", stateless)
	}
	apps, err := liff.NewLiffAPI(s.Channel().AccessToken, liff.WithEndpoint(s.BaseURL()))
	must(err)
	all, err := apps.GetAllLIFFApps()
	must(err)
	if len(all.Apps) != 1 || all.Apps[0].LiffId != s.Login().LIFFID || all.Apps[0].View.Url != "https://school.example/liff" {
		t.Errorf("%+v", all)
	}
	if n := len(s.Messages(s.group.ID)); n != 4 { // two pushed, one said, one replied
		t.Errorf("%d messages in the group", n)
	}
}

func TestLINEsOwnClientSeesALostAnswerAsItDoesWithLINE(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	api := officialClient(t, s)
	s.fault(t, linesim.Fault{Kind: linesim.FaultCut, Accept: true, Count: 1})
	s.fault(t, linesim.Fault{Kind: linesim.FaultBroken, Count: 1})
	push := &messaging_api.PushMessageRequest{To: s.group.ID, Messages: []messaging_api.MessageInterface{messaging_api.TextMessage{Text: "x"}}}
	if res, _, err := api.PushMessageWithHttpInfo(push, uuid.NewString()); res != nil || err == nil {
		t.Errorf("cut: %v, %v", res, err)
	}
	res, _, err := api.PushMessageWithHttpInfo(push, uuid.NewString())
	if res == nil || res.StatusCode != 200 || err == nil {
		t.Errorf("broken body: %v, %v", res, err)
	}
	if n := len(s.Accepted()); n != 2 {
		t.Errorf("%d accepted", n)
	}
}
