package linesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// LINE's limits. Lengths are UTF-16 units.
// Source: https://developers.line.biz/en/reference/messaging-api/#message-objects , read in October 2026.
const (
	maxPerPush     = 5
	maxText        = 5000
	maxAltText     = 400
	maxURI         = 1000
	maxLabel       = 40 // of a Flex button, in grapheme clusters
	maxPostback    = 300
	maxBubbleBytes = 30 << 10
	maxCarousel    = 12       // bubbles
	maxFlexBytes   = 50 << 10 // of a carousel's JSON
	maxImageURL    = 2000
)

// LINE's words about fields. Those in lower case are about Flex containers. Documented or seen in reports, such as
// https://github.com/line/line-bot-sdk-go/issues/657 , https://github.com/line/line-bot-sdk-python/issues/314 and
// https://github.com/bottenderjs/messaging-apis/pull/171 (December 2026); the others are marked [sim].
const (
	msgEmpty        = "May not be empty"
	msgProperty     = "invalid property"
	msgURIScheme    = "invalid uri scheme"
	msgURI          = "invalid uri"                           // [sim]
	msgRequired     = "must be specified"                     // [sim]
	msgUnknownField = "unknown field"                         // [sim]
	msgTextEmpty    = "must be non-empty text"                // [sim]
	msgTooLong      = "must not be longer than %d characters" // [sim]
	msgTooBig       = "too large"                             // [sim]
)

// messageTypes are the types of message objects.
var messageTypes = []string{"text", "textV2", "sticker", "image", "video", "audio", "location", "imagemap", "template", "flex", "coupon"}

func msgLength(max int) string { return fmt.Sprintf("Length must be between 0 and %d", max) }

// checkMessages enforces LINE's limits on a list of message objects.
func checkMessages(objects []json.RawMessage) (reply, bool) {
	if len(objects) < 1 || len(objects) > maxPerPush {
		return fieldErrors(detail{fmt.Sprintf("Size must be between 1 and %d", maxPerPush), "messages"}), false
	}
	var found []detail
	for i, o := range objects {
		var m struct {
			Type               string          `json:"type"`
			Text               *string         `json:"text"`
			AltText            *string         `json:"altText"`
			Contents           json.RawMessage `json:"contents"`
			OriginalContentURL *string         `json:"originalContentUrl"`
			PreviewImageURL    *string         `json:"previewImageUrl"`
			PackageID          *string         `json:"packageId"`
			StickerID          *string         `json:"stickerId"`
		}
		at := func(field string) string { return propertyName(i, field) }
		if json.Unmarshal(o, &m) != nil {
			return refuse(http.StatusBadRequest, fmt.Sprintf("The property, '%s', in the request body is invalid (line: -, column: -)", at(""))), false
		}
		must := func(field string, v *string, max int) {
			switch {
			case v == nil || *v == "":
				found = append(found, detail{msgEmpty, at(field)})
			case utf16Len(*v) > max:
				found = append(found, detail{msgLength(max), at(field)})
			}
		}
		switch m.Type {
		case "text", "textV2":
			must("text", m.Text, maxText)
		case "image":
			must("originalContentUrl", m.OriginalContentURL, maxImageURL)
			must("previewImageUrl", m.PreviewImageURL, maxImageURL)
			for field, v := range map[string]*string{"originalContentUrl": m.OriginalContentURL, "previewImageUrl": m.PreviewImageURL} {
				if v != nil && *v != "" && !strings.HasPrefix(*v, "https://") {
					found = append(found, detail{"must be https", at(field)}) // [sim]
				}
			}
		case "sticker":
			must("packageId", m.PackageID, 20)
			must("stickerId", m.StickerID, 20)
		case "flex":
			must("altText", m.AltText, maxAltText)
			if len(found) == 0 {
				if bad := checkFlex(m.Contents); len(bad) > 0 {
					// Errors within a Flex container have another headline, and paths like JSON pointers.
					return refuse(http.StatusBadRequest, fmt.Sprintf("A message (%s) in the request body is invalid", at("")), bad...), false
				}
			}
		case "video", "audio", "location", "imagemap", "template", "coupon": // taken as they are: the product sends none
		default:
			found = append(found, detail{"Must be one of the following values: [" + strings.Join(messageTypes, ", ") + "]", at("type")})
		}
	}
	if len(found) > 0 {
		return fieldErrors(found...), false
	}
	return reply{}, true
}

func fieldErrors(ds ...detail) reply {
	slices.SortFunc(ds, func(a, b detail) int { return strings.Compare(a.Property, b.Property) })
	return refuse(http.StatusBadRequest, fmt.Sprintf("The request body has %d error(s)", len(ds)), ds...)
}

// utf16Len is a text's length as LINE counts it.
// Source: https://developers.line.biz/en/docs/messaging-api/text-character-count/
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// checkFlex checks a Flex container: structure, required fields, limits.
func checkFlex(raw json.RawMessage) []detail {
	var c struct {
		Type     string            `json:"type"`
		Contents []json.RawMessage `json:"contents"`
	}
	f := &flexCheck{}
	if json.Unmarshal(raw, &c) != nil {
		f.add(msgProperty, "/type")
		return f.found
	}
	switch c.Type {
	case "bubble":
		f.bubble(raw, "")
	case "carousel":
		if len(c.Contents) < 1 || len(c.Contents) > maxCarousel {
			f.add(fmt.Sprintf("size must be between 1 and %d", maxCarousel), "/contents")
		}
		if len(raw) > maxFlexBytes {
			f.add(msgTooBig, "/")
		}
		for i, b := range c.Contents {
			f.bubble(b, fmt.Sprintf("/contents/%d", i))
		}
	default:
		f.add(msgProperty, "/type")
	}
	return f.found
}

// flexCheck collects what is wrong with a container.
type flexCheck struct{ found []detail }

func (f *flexCheck) add(message, path string) {
	if path == "" {
		path = "/"
	}
	f.found = append(f.found, detail{message, path})
}

type object = map[string]json.RawMessage

// str is word, and whether the field is there.
func str(o object, field string) (string, bool) {
	raw, ok := o[field]
	if !ok {
		return "", false
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

// word is a field that holds text; empty if it is absent or something else.
func word(o object, field string) string {
	var s string
	json.Unmarshal(o[field], &s)
	return s
}

// one reports whether a field is absent, null, or one of the allowed words.
func (f *flexCheck) one(o object, field, path string, allowed ...string) {
	raw, ok := o[field]
	if !ok || bytes.Equal(raw, []byte("null")) {
		return
	}
	if !slices.Contains(allowed, word(o, field)) {
		f.add(msgProperty, path+"/"+field)
	}
}

// form reports whether a field is absent, null, or of that form.
func (f *flexCheck) form(o object, field, path string, re *regexp.Regexp) {
	raw, ok := o[field]
	if !ok || bytes.Equal(raw, []byte("null")) {
		return
	}
	if !re.MatchString(word(o, field)) {
		f.add(msgProperty, path+"/"+field)
	}
}

var (
	flexColor  = regexp.MustCompile(`^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$`)
	flexSize   = regexp.MustCompile(`^(xxs|xs|sm|md|lg|xl|xxl|3xl|4xl|5xl|\d+(\.\d+)?px)$`)
	flexMargin = regexp.MustCompile(`^(none|xs|sm|md|lg|xl|xxl|\d+(\.\d+)?px)$`)
	flexSpace  = regexp.MustCompile(`^(none|xs|sm|md|lg|xl|xxl|\d+(\.\d+)?(px|%))$`)
)

func (f *flexCheck) bubble(raw json.RawMessage, path string) {
	var o object
	if json.Unmarshal(raw, &o) != nil || word(o, "type") != "bubble" {
		f.add(msgProperty, path+"/type")
		return
	}
	if len(raw) > maxBubbleBytes {
		f.add(msgTooBig, path)
	}
	f.one(o, "size", path, "nano", "micro", "deca", "hecto", "kilo", "mega", "giga")
	f.one(o, "direction", path, "ltr", "rtl")
	blocks := 0
	for field, value := range o {
		switch field {
		case "header", "body", "footer":
			if !bytes.Equal(value, []byte("null")) {
				blocks++
				f.component(value, path+"/"+field, "box")
			}
		case "hero":
			if !bytes.Equal(value, []byte("null")) {
				blocks++
				f.component(value, path+"/"+field, "box", "image", "video")
			}
		case "type", "size", "direction", "styles", "action":
		default:
			f.add(msgUnknownField, path+"/"+field)
		}
	}
	if blocks == 0 {
		f.add("At least one block must be specified", path)
	}
	slices.SortFunc(f.found, func(a, b detail) int { return strings.Compare(a.Property, b.Property) })
}

// flexFields are the fields each component may have.
// Source: https://developers.line.biz/en/reference/messaging-api/#flex-message , read in October 2026.
var flexFields = map[string]string{
	"box": "layout contents backgroundColor borderColor borderWidth cornerRadius width maxWidth height maxHeight flex spacing margin " +
		"paddingAll paddingTop paddingBottom paddingStart paddingEnd position offsetTop offsetBottom offsetStart offsetEnd action " +
		"justifyContent alignItems background",
	"button":    "action flex margin position offsetTop offsetBottom offsetStart offsetEnd height style color gravity adjustMode scaling",
	"image":     "url flex margin position offsetTop offsetBottom offsetStart offsetEnd align gravity size aspectRatio aspectMode backgroundColor action animated",
	"video":     "url previewUrl altContent aspectRatio action",
	"icon":      "url margin position offsetTop offsetBottom offsetStart offsetEnd size aspectRatio scaling",
	"text":      "text contents adjustMode flex margin position offsetTop offsetBottom offsetStart offsetEnd size align gravity wrap lineSpacing maxLines weight color action style decoration scaling",
	"span":      "text color size weight style decoration",
	"separator": "margin color",
	"filler":    "flex",
}

func (f *flexCheck) component(raw json.RawMessage, path string, allowed ...string) {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		f.add(msgProperty, path)
		return
	}
	kind := word(o, "type")
	fields, known := flexFields[kind]
	if !known || !slices.Contains(allowed, kind) {
		f.add(msgProperty, path)
		return
	}
	has := strings.Fields(fields)
	for field := range o {
		if field != "type" && !slices.Contains(has, field) {
			f.add(msgUnknownField, path+"/"+field)
		}
	}
	for _, field := range []string{"color", "backgroundColor", "borderColor"} {
		f.form(o, field, path, flexColor)
	}
	f.form(o, "margin", path, flexMargin)
	f.one(o, "gravity", path, "top", "bottom", "center")
	f.one(o, "position", path, "relative", "absolute")
	if raw, ok := o["flex"]; ok && !bytes.Equal(raw, []byte("null")) {
		var n int
		if json.Unmarshal(raw, &n) != nil || n < 0 {
			f.add(msgProperty, path+"/flex")
		}
	}
	if raw, ok := o["action"]; ok && kind != "button" && !bytes.Equal(raw, []byte("null")) {
		f.action(o["action"], path+"/action", false)
	}
	switch kind {
	case "box":
		f.box(o, path)
	case "button":
		f.one(o, "style", path, "primary", "secondary", "link")
		f.one(o, "height", path, "sm", "md")
		if _, ok := o["action"]; !ok {
			f.add(msgRequired, path+"/action")
		} else {
			f.action(o["action"], path+"/action", true)
		}
	case "text":
		f.form(o, "size", path, flexSize)
		f.one(o, "weight", path, "regular", "bold")
		f.one(o, "align", path, "start", "end", "center")
		f.one(o, "style", path, "normal", "italic")
		f.one(o, "decoration", path, "none", "underline", "line-through")
		var spans []json.RawMessage
		json.Unmarshal(o["contents"], &spans)
		if s, ok := str(o, "text"); (!ok || s == "") && len(spans) == 0 {
			f.add(msgTextEmpty, path+"/text")
		}
		for i, c := range spans {
			f.component(c, fmt.Sprintf("%s/contents/%d", path, i), "span")
		}
	case "span":
		f.form(o, "size", path, flexSize)
		if s, ok := str(o, "text"); !ok || s == "" {
			f.add(msgTextEmpty, path+"/text")
		}
	case "image", "icon", "video":
		if u := word(o, "url"); !strings.HasPrefix(u, "https://") {
			f.add(msgURIScheme, path+"/url")
		} else if utf16Len(u) > maxImageURL {
			f.add(fmt.Sprintf(msgTooLong, maxImageURL), path+"/url")
		}
	}
}

func (f *flexCheck) box(o object, path string) {
	layout := word(o, "layout")
	children := []string{"box", "button", "image", "video", "text", "separator", "filler"}
	switch layout {
	case "vertical", "horizontal":
	case "baseline":
		children = []string{"icon", "text", "filler"}
	default:
		f.add(msgProperty, path+"/layout")
	}
	f.form(o, "spacing", path, flexMargin)
	for _, field := range []string{"paddingAll", "paddingTop", "paddingBottom", "paddingStart", "paddingEnd"} {
		f.form(o, field, path, flexSpace)
	}
	f.one(o, "justifyContent", path, "center", "flex-start", "flex-end", "space-between", "space-around", "space-evenly")
	f.one(o, "alignItems", path, "center", "flex-start", "flex-end")
	var contents []json.RawMessage
	if raw, ok := o["contents"]; !ok || json.Unmarshal(raw, &contents) != nil {
		f.add(msgRequired, path+"/contents")
	}
	for i, c := range contents {
		f.component(c, fmt.Sprintf("%s/contents/%d", path, i), children...)
	}
}

// action checks what a tap does. A button's action needs a label.
func (f *flexCheck) action(raw json.RawMessage, path string, labelled bool) {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		f.add(msgProperty, path)
		return
	}
	label := word(o, "label")
	if labelled && label == "" {
		f.add(msgRequired, path+"/label")
	}
	if graphemes(label) > maxLabel {
		f.add(fmt.Sprintf(msgTooLong, maxLabel), path+"/label")
	}
	switch word(o, "type") {
	case "uri":
		if message := wrongURI(word(o, "uri")); message != "" {
			f.add(message, path+"/uri")
		}
	case "postback":
		if d := word(o, "data"); d == "" || utf16Len(d) > maxPostback {
			f.add(fmt.Sprintf("must be between 1 and %d characters", maxPostback), path+"/data")
		}
	case "message":
		if t := word(o, "text"); t == "" || utf16Len(t) > maxPostback {
			f.add(fmt.Sprintf("must be between 1 and %d characters", maxPostback), path+"/text")
		}
	case "datetimepicker", "camera", "cameraRoll", "location", "richmenuswitch", "clipboard":
	default:
		f.add(msgProperty, path+"/type")
	}
}

// wrongURI says what is wrong with an action's address: http, https, line and tel, percent-encoded, at most 1,000
// characters.
// Source: https://developers.line.biz/en/reference/messaging-api/#uri-action
func wrongURI(s string) string {
	if len(s) > maxURI {
		return fmt.Sprintf(msgTooLong, maxURI)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= utf8.RuneSelf {
			return msgURI
		}
	}
	u, err := url.Parse(s)
	if err != nil || s == "" {
		return msgURI
	}
	switch u.Scheme {
	case "http", "https", "line":
		if u.Host == "" {
			return msgURI
		}
	case "tel":
		if u.Opaque == "" && u.Path == "" {
			return msgURI
		}
	default:
		return msgURIScheme
	}
	return ""
}

// graphemes counts what a person calls characters, near enough for a label: a rune that only changes the one before it
// (combining marks, variation selectors, skin tones, joined emoji) adds nothing.
func graphemes(s string) int {
	n, joined := 0, false
	for _, r := range s {
		switch {
		case r == 0x200d:
			joined = true
			continue
		case joined:
		case r >= 0x300 && r <= 0x36f, r >= 0x3099 && r <= 0x309a, r >= 0xfe00 && r <= 0xfe0f, r >= 0x1f3fb && r <= 0x1f3ff, r >= 0xe0100 && r <= 0xe01ef:
			continue
		default:
			n++
		}
		joined = false
	}
	return n
}
