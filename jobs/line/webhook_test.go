package line_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shiftpost/db/roster"
	"shiftpost/jobs/line"
	"shiftpost/jobs/line/linesim"
)

const (
	secret    = "8c570fa6dd201bb328f1c1eac23a96d8"
	someUser  = "U4af4980629f30123456789abcdef0123"
	someGroup = "Ca56f94637c0123456789abcdef012345"
)

// eventBodies are events as LINE writes them, one of every kind that the documentation shows, by name.
// Source: https://developers.line.biz/en/reference/messaging-api/#webhook-event-objects , read in October 2026.
var eventBodies = map[string]string{
	"join":                `{"type":"join","timestamp":1767225600000,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"replyToken":"nHuyWiB7yP5Zw52FIkcQobQuGDXCTA","webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZR","deliveryContext":{"isRedelivery":false}}`,
	"join a room":         `{"type":"join","timestamp":1767225600000,"mode":"active","source":{"type":"room","roomId":"Ra8dbf4673c0123456789abcdef012345"},"replyToken":"x","webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZS","deliveryContext":{"isRedelivery":false}}`,
	"leave":               `{"type":"leave","timestamp":1767225600001,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZT","deliveryContext":{"isRedelivery":false}}`,
	"memberJoined":        `{"type":"memberJoined","timestamp":1767225600002,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"replyToken":"x","joined":{"members":[{"type":"user","userId":"` + someUser + `"},{"type":"user","userId":"Ucd259482e0123456789abcdef0123456"}]},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZU","deliveryContext":{"isRedelivery":false}}`,
	"memberLeft":          `{"type":"memberLeft","timestamp":1767225600003,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"left":{"members":[{"type":"user","userId":"` + someUser + `"}]},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZV","deliveryContext":{"isRedelivery":false}}`,
	"follow":              `{"type":"follow","timestamp":1767225600004,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"replyToken":"85cbe770fa8b4f45bbe077b1d4be4a36","follow":{"isUnblocked":false},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZW","deliveryContext":{"isRedelivery":false}}`,
	"unblock":             `{"type":"follow","timestamp":1767225600005,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"replyToken":"y","follow":{"isUnblocked":true},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZX","deliveryContext":{"isRedelivery":true}}`,
	"unfollow":            `{"type":"unfollow","timestamp":1767225600006,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZY","deliveryContext":{"isRedelivery":false}}`,
	"message":             `{"type":"message","timestamp":1767225600007,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `","userId":"` + someUser + `"},"replyToken":"x","message":{"id":"444573844083572737","type":"text","quoteToken":"q3Plxr4AgKd","text":"@All お疲れさまです"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC3ZZ","deliveryContext":{"isRedelivery":false}}`,
	"message by nobody":   `{"type":"message","timestamp":1767225600008,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"replyToken":"x","message":{"id":"1","type":"sticker","stickerId":"1","packageId":"1","stickerResourceType":"STATIC","quoteToken":"q"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC400","deliveryContext":{"isRedelivery":false}}`,
	"postback":            `{"type":"postback","timestamp":1767225600009,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"replyToken":"b60d432864f44d079f6d8efe86cf404b","postback":{"data":"storeId=12345","params":{"datetime":"2017-12-25T01:00"}},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC401","deliveryContext":{"isRedelivery":false}}`,
	"accountLink":         `{"type":"accountLink","timestamp":1767225600010,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"replyToken":"x","link":{"result":"ok","nonce":"sr2k3mzqmgc"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC402","deliveryContext":{"isRedelivery":false}}`,
	"accountLink failed":  `{"type":"accountLink","timestamp":1767225600011,"mode":"active","link":{"result":"failed","nonce":"sr2k3mzqmgc"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC403","deliveryContext":{"isRedelivery":false}}`,
	"unsend":              `{"type":"unsend","timestamp":1767225600012,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `","userId":"` + someUser + `"},"unsend":{"messageId":"325708"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC404","deliveryContext":{"isRedelivery":false}}`,
	"messageEdited":       `{"type":"messageEdited","timestamp":1767225600013,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `","userId":"` + someUser + `"},"message":{"id":"325708","type":"text","text":"直しました"},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC405","deliveryContext":{"isRedelivery":false}}`,
	"standby":             `{"type":"follow","timestamp":1767225600014,"mode":"standby","source":{"type":"user","userId":"` + someUser + `"},"follow":{"isUnblocked":false},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC406","deliveryContext":{"isRedelivery":false}}`,
	"of an unknown type":  `{"type":"somethingNew","timestamp":1767225600015,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"news":{"a":[1,2]},"webhookEventId":"01FZ74A0TDDPYRVKNK77XKC407","deliveryContext":{"isRedelivery":false}}`,
	"of an unknown place": `{"type":"join","timestamp":1767225600016,"mode":"active","source":{"type":"planet","planetId":"P1"},"replyToken":"x","webhookEventId":"01FZ74A0TDDPYRVKNK77XKC408","deliveryContext":{"isRedelivery":false}}`,
}

// call is a webhook call with events.
func call(events ...string) []byte {
	return []byte(`{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[` + strings.Join(events, ",") + `]}`)
}

func TestEveryKindOfEventIsReadAsFarAsTheProductNeedsIt(t *testing.T) {
	t.Parallel()
	at := func(ms int64) time.Time { return time.UnixMilli(1767225600000 + ms).UTC() }
	for name, want := range map[string]roster.LINEEvent{
		"join":                {Kind: roster.BotJoined, HappenedAt: at(0), GroupID: someGroup, ReplyToken: "nHuyWiB7yP5Zw52FIkcQobQuGDXCTA"},
		"join a room":         {Kind: roster.BotJoined, HappenedAt: at(0), ReplyToken: "x"},
		"leave":               {Kind: roster.BotLeft, HappenedAt: at(1), GroupID: someGroup},
		"memberJoined":        {Kind: roster.MembersJoined, HappenedAt: at(2), GroupID: someGroup, ReplyToken: "x"},
		"memberLeft":          {Kind: roster.MembersLeft, HappenedAt: at(3), GroupID: someGroup},
		"follow":              {Kind: roster.Followed, HappenedAt: at(4), UserID: someUser, ReplyToken: "85cbe770fa8b4f45bbe077b1d4be4a36"},
		"unblock":             {Kind: roster.Followed, HappenedAt: at(5), UserID: someUser, ReplyToken: "y"},
		"unfollow":            {Kind: roster.Unfollowed, HappenedAt: at(6), UserID: someUser},
		"message":             {Kind: "message", HappenedAt: at(7), GroupID: someGroup, UserID: someUser, ReplyToken: "x"},
		"message by nobody":   {Kind: "message", HappenedAt: at(8), GroupID: someGroup, ReplyToken: "x"},
		"postback":            {Kind: "postback", HappenedAt: at(9), UserID: someUser, ReplyToken: "b60d432864f44d079f6d8efe86cf404b"},
		"accountLink":         {Kind: "accountLink", HappenedAt: at(10), UserID: someUser, ReplyToken: "x"},
		"accountLink failed":  {Kind: "accountLink", HappenedAt: at(11)},
		"unsend":              {Kind: "unsend", HappenedAt: at(12), GroupID: someGroup, UserID: someUser},
		"messageEdited":       {Kind: "messageEdited", HappenedAt: at(13), GroupID: someGroup, UserID: someUser},
		"standby":             {Kind: roster.Followed, HappenedAt: at(14), UserID: someUser, Standby: true},
		"of an unknown type":  {Kind: "somethingNew", HappenedAt: at(15), UserID: someUser},
		"of an unknown place": {Kind: roster.BotJoined, HappenedAt: at(16), ReplyToken: "x"},
	} {
		body := call(eventBodies[name])
		got, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body)
		if err != nil || unread != nil || len(got) != 1 {
			t.Errorf("%s: %d events, %v", name, len(got), err)
			continue
		}
		if string(got[0].Body) != eventBodies[name] || !strings.HasPrefix(got[0].ID, "01FZ74A0TDDPYRVKNK77XKC") {
			t.Errorf("%s: read as %s %s", name, got[0].ID, got[0].Body)
		}
		if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(roster.LINEEvent{}, "ID", "Body")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestACallMayCarryEventsOfSeveralPeopleOrNone(t *testing.T) {
	t.Parallel()
	body := call(eventBodies["follow"], eventBodies["of an unknown type"], eventBodies["leave"])
	got, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body)
	if err != nil || unread != nil || len(got) != 3 || got[0].Kind != roster.Followed || got[2].GroupID != someGroup {
		t.Errorf("%+v, %v", got, err)
	}
	body = call()
	if got, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body); err != nil || unread != nil || len(got) != 0 {
		t.Errorf("LINE's trial call: %+v, %v", got, err)
	}
}

func TestAnEventWithoutANameIsKnownAgainByItsBytes(t *testing.T) {
	t.Parallel()
	one := `{"type":"follow","mode":"active","timestamp":1,"source":{"type":"user","userId":"` + someUser + `"}}`
	body := call(one, one, strings.Replace(one, `:1,`, `:2,`, 1))
	got, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body)
	if err != nil || unread != nil || len(got) != 3 || got[0].ID == "" || got[0].ID != got[1].ID || got[0].ID == got[2].ID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestIDsThatAreNotLINEsAreLeftOut(t *testing.T) {
	t.Parallel()
	body := call(`{"type":"join","mode":"active","timestamp":1,"webhookEventId":"1","source":{"type":"group","groupId":"../../info","userId":"U1"}}`)
	got, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body)
	if err != nil || unread != nil || len(got) != 1 || got[0].GroupID != "" || got[0].UserID != "" || got[0].Heeded() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestABrokenEventDoesNotKeepThoseBesideItFromBeingRead(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"a message that is null":     `{"type":"message","timestamp":1,"mode":"active","source":{"type":"user","userId":"` + someUser + `"},"webhookEventId":"01A","message":null}`,
		"a message without its type": `{"type":"message","timestamp":1,"mode":"active","message":{"id":7},"webhookEventId":"01A"}`,
		"a member that is null":      `{"type":"memberJoined","timestamp":1,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"joined":{"members":[null,{"type":1}]},"webhookEventId":"01A"}`,
		"members that are no list":   `{"type":"memberLeft","timestamp":1,"mode":"active","source":{"type":"group","groupId":"` + someGroup + `"},"left":{"members":"x"},"webhookEventId":"01A"}`,
		"a mention that is a number": `{"type":"message","timestamp":1,"mode":"active","message":{"type":"text","text":"x","mention":{"mentionees":[1]}},"webhookEventId":"01A"}`,
		"a postback that is a list":  `{"type":"postback","timestamp":1,"mode":"active","postback":[],"webhookEventId":"01A"}`,
		"null":                       `null`,
		"a number":                   `1`,
		"a text":                     `"join"`,
		"a list":                     `[]`,
		"nothing":                    `{}`,
		"a type that is a number":    `{"type":1}`,
		"a source that is a text":    `{"type":"join","source":"` + someGroup + `"}`,
		"a time that is no number":   `{"type":"join","timestamp":"yesterday"}`,
		"a time that is too large":   `{"type":"follow","timestamp":1e99}`,
		"a name that is an object":   `{"type":"follow","webhookEventId":{}}`,
	} {
		body := call(broken, eventBodies["join"], broken)
		got, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body)
		if err != nil || len(got) != 3 || got[1].Kind != roster.BotJoined || got[1].GroupID != someGroup || !got[1].Heeded() {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		if got[0].ID == "" || got[0].ID != got[2].ID {
			t.Errorf("%s: not known again", name)
		}
		if len(unread) != 0 && (len(unread) != 2 || got[0].Kind != line.UnreadableEvent || got[0].Heeded() || strings.Contains(unread[0].Error(), someGroup)) {
			t.Errorf("%s: read as %+v, unread %v", name, got[0], unread)
		}
	}
}

func FuzzReadEvents(f *testing.F) {
	for _, e := range eventBodies {
		f.Add(call(e))
	}
	for _, body := range []string{"", "{", "null", "[]", `{"events":null}`, `{"events":{}}`, `{"events":[null]}`, `{"events":[1]}`, `{"events":[{"type":1}]}`, `{"events":[{}]}`,
		`{"events":[{"type":"join","source":null}]}`, `{"events":[{"type":"join","source":"x"}]}`, `{"events":[{"type":"follow","timestamp":1e99}]}`, "<html><body>Bad Gateway</body></html>"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, _, err := line.ReadEvents(secret, linesim.Sign("another", body), body); !errors.Is(err, line.ErrSignature) {
			t.Errorf("a forged call: %v", err)
		}
		events, unread, err := line.ReadEvents(secret, linesim.Sign(secret, body), body)
		if err != nil && !errors.Is(err, line.ErrWebhookBody) {
			t.Errorf("an error of no kind: %v", err)
		}
		if len(unread) > len(events) {
			t.Errorf("%d of %d events are unread", len(unread), len(events))
		}
		for _, e := range events {
			if e.ID == "" {
				t.Error("an event without a name")
			}
		}
	})
}
