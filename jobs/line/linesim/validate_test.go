package linesim_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shiftpost/jobs/line/linesim"
)

// flexMessage wraps a container.
func flexMessage(container string) string {
	return `{"type":"flex","altText":"alt","contents":` + container + `}`
}

func bodyOf(components string) string {
	return `{"type":"bubble","body":{"type":"box","layout":"vertical","contents":[` + components + `]}}`
}

func button(label, uri string) string {
	l, _ := json.Marshal(label)
	return fmt.Sprintf(`{"type":"button","action":{"type":"uri","label":%s,"uri":%q}}`, l, uri)
}

func TestTheLimitsOfMessagesAreLINEs(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	// 𠮷 is two UTF-16 units, and one character of a label; the family is one character of seven code points.
	wide, family := "𠮷", "👨‍👩‍👧‍👦"
	inFlex := func(details string) string {
		return `{"message":"A message (messages[0]) in the request body is invalid","details":[` + details + `]}`
	}
	inField := func(message, property string) string {
		return `{"message":"The request body has 1 error(s)","details":[{"message":"` + message + `","property":"` + property + `"}]}`
	}
	for _, c := range []struct {
		name, message, want string // want is empty if the message is good
	}{
		{"text of 5,000 units", fmt.Sprintf(`{"type":"text","text":%q}`, strings.Repeat(wide, 2500)), ""},
		{"text of 5,002 units", fmt.Sprintf(`{"type":"text","text":%q}`, strings.Repeat(wide, 2501)), inField("Length must be between 0 and 5000", "messages[0].text")},
		{"alternative text of 400", `{"type":"flex","altText":"` + strings.Repeat("あ", 400) + `","contents":` + bodyOf(`{"type":"text","text":"x"}`) + `}`, ""},
		{"alternative text of 401", `{"type":"flex","altText":"` + strings.Repeat("あ", 401) + `","contents":` + bodyOf(`{"type":"text","text":"x"}`) + `}`, inField("Length must be between 0 and 400", "messages[0].altText")},
		{"no alternative text", `{"type":"flex","contents":` + bodyOf(`{"type":"text","text":"x"}`) + `}`, inField("May not be empty", "messages[0].altText")},
		{"unknown type", `{"type":"fax"}`, inField("Must be one of the following values: [text, textV2, sticker, image, video, audio, location, imagemap, template, flex, coupon]", "messages[0].type")},
		{"picture without https", `{"type":"image","originalContentUrl":"http://example.com/a.png","previewImageUrl":"https://example.com/a.png"}`, inField("must be https", "messages[0].originalContentUrl")},
		{"sticker", `{"type":"sticker","packageId":"446","stickerId":"1988"}`, ""},

		{"empty bubble", flexMessage(`{"type":"bubble"}`), inFlex(`{"message":"At least one block must be specified","property":"/"}`)},
		{"no container", `{"type":"flex","altText":"alt"}`, inFlex(`{"message":"invalid property","property":"/type"}`)},
		{"a message as container", flexMessage(flexMessage(bodyOf(""))), inFlex(`{"message":"invalid property","property":"/type"}`)},
		{"bubble over 30 KB", flexMessage(bodyOf(`{"type":"text","text":"` + strings.Repeat("x", 30<<10) + `"}`)), inFlex(`{"message":"too large","property":"/"}`)},
		{"label of 40 characters", flexMessage(bodyOf(button(strings.Repeat(wide, 39)+family, "https://example.com/"))), ""},
		{"label of 41 characters", flexMessage(bodyOf(button(strings.Repeat(wide, 41), "https://example.com/"))), inFlex(`{"message":"must not be longer than 40 characters","property":"/body/contents/0/action/label"}`)},
		{"button without label", flexMessage(bodyOf(button("", "https://example.com/"))), inFlex(`{"message":"must be specified","property":"/body/contents/0/action/label"}`)},
		{"button without action", flexMessage(bodyOf(`{"type":"button"}`)), inFlex(`{"message":"must be specified","property":"/body/contents/0/action"}`)},
		{"address of 1,000", flexMessage(bodyOf(button("x", "https://example.com/"+strings.Repeat("a", 980)))), ""},
		{"address of 1,001", flexMessage(bodyOf(button("x", "https://example.com/"+strings.Repeat("a", 981)))), inFlex(`{"message":"must not be longer than 1000 characters","property":"/body/contents/0/action/uri"}`)},
		{"address by ftp", flexMessage(bodyOf(button("x", "ftp://example.com/"))), inFlex(`{"message":"invalid uri scheme","property":"/body/contents/0/action/uri"}`)},
		{"address not encoded", flexMessage(bodyOf(button("x", "https://example.com/講師"))), inFlex(`{"message":"invalid uri","property":"/body/contents/0/action/uri"}`)},
		{"telephone", flexMessage(bodyOf(button("x", "tel:0312345678"))), ""},
		{"empty text component", flexMessage(bodyOf(`{"type":"text","text":""}`)), inFlex(`{"message":"must be non-empty text","property":"/body/contents/0/text"}`)},
		{"text of spans", flexMessage(bodyOf(`{"type":"text","contents":[{"type":"span","text":"x","weight":"bold"}]}`)), ""},
		{"withdrawn component", flexMessage(bodyOf(`{"type":"text","text":"x"},{"type":"spacer"}`)), inFlex(`{"message":"invalid property","property":"/body/contents/1"}`)},
		{"button in a baseline box", flexMessage(bodyOf(`{"type":"box","layout":"baseline","contents":[` + button("x", "https://example.com/") + `]}`)), inFlex(`{"message":"invalid property","property":"/body/contents/0/contents/0"}`)},
		{"unknown field", flexMessage(bodyOf(`{"type":"text","text":"x","colour":"#000000"}`)), inFlex(`{"message":"unknown field","property":"/body/contents/0/colour"}`)},
		{"colour by name", flexMessage(bodyOf(`{"type":"text","text":"x","color":"red"}`)), inFlex(`{"message":"invalid property","property":"/body/contents/0/color"}`)},
		{"size of its own", flexMessage(bodyOf(`{"type":"text","text":"x","size":"13.5px"}`)), ""},
		{"unknown layout", flexMessage(bodyOf(`{"type":"box","layout":"grid","contents":[]}`)), inFlex(`{"message":"invalid property","property":"/body/contents/0/layout"}`)},
		{"picture by http", flexMessage(`{"type":"bubble","hero":{"type":"image","url":"http://example.com/a.png"}}`), inFlex(`{"message":"invalid uri scheme","property":"/hero/url"}`)},
		{"postback of 301", flexMessage(bodyOf(`{"type":"button","action":{"type":"postback","label":"x","data":"` + strings.Repeat("x", 301) + `"}}`)), inFlex(`{"message":"must be between 1 and 300 characters","property":"/body/contents/0/action/data"}`)},
		{"carousel", flexMessage(`{"type":"carousel","contents":[` + bodyOf(`{"type":"text","text":"x"}`) + `]}`), ""},
		{"carousel of none", flexMessage(`{"type":"carousel","contents":[]}`), inFlex(`{"message":"size must be between 1 and 12","property":"/contents"}`)},
		{"in a carousel", flexMessage(`{"type":"carousel","contents":[` + bodyOf(`{"type":"text","text":"x"}`) + `,{"type":"bubble"}]}`), inFlex(`{"message":"At least one block must be specified","property":"/contents/1"}`)},
		{"nulls as the official SDK sends them", flexMessage(bodyOf(`{"type":"text","text":"x","action":null,"contents":null,"color":null,"flex":0,"maxLines":0}`)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, status := c.want, 400
			if want == "" {
				want, status = "{}", 200
			}
			s.call(t, "POST", "/v2/bot/message/validate/push", `{"messages":[`+c.message+`]}`).want(t, status, want)
			// The push itself judges alike.
			if a := s.push(t, `{"to":"`+s.users[0].ID+`","messages":[`+c.message+`]}`, ""); a.status != status {
				t.Errorf("push: %d %s", a.status, a.body)
			}
		})
	}
	if _, used := s.Quota(); used != len(s.Accepted()) {
		t.Error("validating used quota")
	}
}
