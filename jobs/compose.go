package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/line/line-bot-sdk-go/v8/linebot/messaging_api"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// Composer builds the messages that LINE shows, as the bytes of push requests. It speaks the school's language,
// Japanese. The messages hold no picture and no address of one, and a group's message names nobody: what is behind
// its button is shown only to teachers.
type Composer struct {
	liff string
	loc  *time.Location
}

// NewComposer returns a composer whose buttons open pages of that LIFF app, below liffBaseURL (https://liff.line.me),
// and which writes instants in the zone loc.
func NewComposer(liffBaseURL, liffID string, loc *time.Location) (*Composer, error) {
	liff, err := url.JoinPath(liffBaseURL, liffID)
	if err != nil {
		return nil, fmt.Errorf("liff url: %w", err)
	}
	return &Composer{liff, loc}, nil
}

// Colours of the messages; they stand on LINE's own ground, white or dark, and so bring their own.
const (
	colorHeader = "#0b2f57"
	colorOnDark = "#ffffff"
	colorText   = "#1a1c20"
	colorSecond = "#454c57"
	colorButton = "#0055ad"
)

// ComposePublication builds the announcement of a publication: group, month, version, how many changes, and the
// button that opens it.
func (c *Composer) ComposePublication(m roster.PublicationMessage) ([]byte, error) {
	ctx := text.WithLanguage(context.Background(), text.Japanese)
	month := text.Month(ctx, m.Month)
	version := text.T(ctx, "messages.version", "Number", m.Number)
	alt := text.T(ctx, "messages.publication_alt", "Month", month, "Number", m.Number)
	if m.Update() {
		version = text.T(ctx, "messages.version_update", "Number", m.Number)
		alt = text.T(ctx, "messages.publication_alt_update", "Month", month, "Number", m.Number)
	}
	rows := []messaging_api.FlexComponentInterface{row(text.T(ctx, "messages.version_label"), version)}
	switch {
	case m.Update() && m.Base.Certain:
		rows = append(rows, row(text.T(ctx, "messages.changes_label"), c.changes(ctx, m)))
	case m.Update():
		rows = append(rows, row(text.T(ctx, "messages.changes_label"), text.T(ctx, "messages.changes_uncounted")))
	}
	rows = append(rows,
		row(text.T(ctx, "messages.published_label"), text.Moment(ctx, m.PublishedAt, c.loc)),
		&messaging_api.FlexSeparator{Margin: "lg"},
		hint(text.T(ctx, "messages.publication_hint")),
	)
	uri, err := url.JoinPath(c.liff, "documents", m.DocumentID)
	if err != nil {
		return nil, fmt.Errorf("document url: %w", err)
	}
	return encode(m.LINEGroupID, alt, bubble(m.GroupName, text.T(ctx, "messages.publication_title", "Month", month), rows, button(text.T(ctx, "messages.open"), uri)))
}

// ComposeReceiptRequest builds what asks one teacher to open a publication and confirm it.
func (c *Composer) ComposeReceiptRequest(m roster.ReceiptRequestMessage) ([]byte, error) {
	ctx := text.WithLanguage(context.Background(), text.Japanese)
	month := text.Month(ctx, m.Month)
	words := text.T(ctx, "messages.request_hint")
	if m.Stale {
		words = text.T(ctx, "messages.request_stale_hint")
	}
	uri, err := url.JoinPath(c.liff, "documents", m.DocumentID)
	if err != nil {
		return nil, fmt.Errorf("document url: %w", err)
	}
	rows := []messaging_api.FlexComponentInterface{
		row(text.T(ctx, "messages.version_label"), text.T(ctx, "messages.request_sheet", "Month", month, "Number", m.Number)),
		row(text.T(ctx, "messages.published_label"), text.Moment(ctx, m.PublishedAt, c.loc)),
		&messaging_api.FlexSeparator{Margin: "lg"},
		hint(words),
	}
	alt := text.T(ctx, "messages.request_alt", "Month", month, "Number", m.Number)
	return encode(m.LINEID, alt, bubble(m.GroupName, text.T(ctx, "messages.request_title"), rows, button(text.T(ctx, "messages.open"), uri)))
}

// maxNamed bounds how many shifts the words of a notification name; the message itself has them all.
const maxNamed = 3

// ComposeNotice builds what one teacher is told about one shift of theirs: a reminder, or that what they were told has
// changed. Where it is certain what they were told, it says before and after; else only what is so now.
func (c *Composer) ComposeNotice(m roster.NoticeMessage) ([]byte, error) {
	ctx := text.WithLanguage(context.Background(), text.Japanese)
	var title, alt string
	var rows []messaging_api.FlexComponentInterface
	switch m.Kind {
	case roster.ShiftReminder:
		title = text.T(ctx, "messages.reminder_title")
		alt = text.T(ctx, "messages.reminder_alt", "Shift", said(ctx, *m.Now))
		rows = c.shiftRows(ctx, cmp.Or(m.Before, m.Now), *m.Now)
	case roster.ShiftCorrection:
		title = text.T(ctx, "messages.correction_title")
		alt = text.T(ctx, "messages.correction_alt", "Shift", said(ctx, *m.Now))
		rows = c.shiftRows(ctx, cmp.Or(m.Before, m.Now), *m.Now)
	case roster.ShiftCancellation:
		title = text.T(ctx, "messages.cancellation_title")
		gone := m.Gone
		if m.Before != nil {
			gone = []roster.ToldShift{*m.Before}
		}
		var names []string
		for i, x := range gone {
			if i > 0 {
				rows = append(rows, &messaging_api.FlexSeparator{Margin: "md"})
			}
			rows = append(rows, c.shiftRows(ctx, &x, x)...)
			names = append(names, said(ctx, x))
		}
		rows = append(rows, hint(text.N(ctx, "messages.cancellation_hint", len(gone))))
		alt = text.T(ctx, "messages.cancellation_alt", "Shift", strings.Join(names[:min(len(names), maxNamed)], text.T(ctx, "messages.parts_separator")))
	default:
		return nil, fmt.Errorf("a notice of kind %s has no words", m.Kind)
	}
	link := c.liff
	if m.DocumentID != "" {
		var err error
		if link, err = url.JoinPath(c.liff, "documents", m.DocumentID); err != nil {
			return nil, fmt.Errorf("document url: %w", err)
		}
	}
	return encode(m.LINEID, alt, bubble("", title, rows, button(text.T(ctx, "messages.open"), link)))
}

// said writes a shift in one line: 2027年1月8日(金) 17:00–21:30 駅前教室.
func said(ctx context.Context, x roster.ToldShift) string {
	return text.Date(ctx, x.Date) + " " + text.Range(ctx, x.Times) + " " + x.Classroom
}

// shiftRows writes each line of a shift, with an arrow from what was told before where the two differ.
func (c *Composer) shiftRows(ctx context.Context, before *roster.ToldShift, now roster.ToldShift) []messaging_api.FlexComponentInterface {
	arrow := func(from, to string) string {
		if from == to {
			return to
		}
		return text.T(ctx, "messages.arrow", "Before", from, "After", to)
	}
	return []messaging_api.FlexComponentInterface{
		row(text.T(ctx, "messages.date_label"), arrow(text.Date(ctx, before.Date), text.Date(ctx, now.Date))),
		row(text.T(ctx, "messages.time_label"), arrow(text.Range(ctx, before.Times), text.Range(ctx, now.Times))),
		row(text.T(ctx, "messages.classroom_label"), arrow(before.Classroom, now.Classroom)),
	}
}

// changes writes 5件（追加2・変更2・取消1), leaving out what did not happen.
func (c *Composer) changes(ctx context.Context, m roster.PublicationMessage) string {
	var parts string
	for _, p := range []struct {
		key string
		n   int
	}{{"messages.added", m.Added}, {"messages.changed", m.Changed}, {"messages.removed", m.Removed}} {
		if p.n == 0 {
			continue
		}
		if parts != "" {
			parts += text.T(ctx, "messages.parts_separator")
		}
		parts += text.T(ctx, p.key, "Count", strconv.Itoa(p.n))
	}
	return text.N(ctx, "messages.changes", m.Changes(), "Parts", parts)
}

// bubble puts a message together: whom it comes from, if that is said, and its title; its rows; and its button.
func bubble(from, title string, rows []messaging_api.FlexComponentInterface, button *messaging_api.FlexButton) *messaging_api.FlexBubble {
	box := func(padding string, contents ...messaging_api.FlexComponentInterface) *messaging_api.FlexBox {
		return &messaging_api.FlexBox{Layout: messaging_api.FlexBoxLAYOUT_VERTICAL, PaddingAll: padding, Contents: contents}
	}
	head := []messaging_api.FlexComponentInterface{&messaging_api.FlexText{Text: title, Size: "lg", Weight: messaging_api.FlexTextWEIGHT_BOLD, Color: colorOnDark, Wrap: true}}
	if from != "" {
		head = slices.Insert(head, 0, messaging_api.FlexComponentInterface(&messaging_api.FlexText{Text: from, Size: "sm", Color: colorOnDark, Wrap: true}))
	}
	b := &messaging_api.FlexBubble{Header: box("16px", head...), Body: box("16px", rows...), Footer: box("12px", button)}
	b.Header.BackgroundColor = colorHeader
	b.Body.Spacing = "sm"
	return b
}

// row is a label and its value beside each other. The SDK writes flex 0 where none is set, which LINE reads as "as
// wide as the text", so both get theirs.
func row(label, value string) *messaging_api.FlexBox {
	return &messaging_api.FlexBox{Layout: messaging_api.FlexBoxLAYOUT_BASELINE, Spacing: "md", Contents: []messaging_api.FlexComponentInterface{
		&messaging_api.FlexText{Text: label, Size: "sm", Color: colorSecond, Flex: 2, Wrap: true},
		&messaging_api.FlexText{Text: value, Size: "sm", Weight: messaging_api.FlexTextWEIGHT_BOLD, Color: colorText, Flex: 7, Wrap: true},
	}}
}

// hint is a sentence below the rows.
func hint(sentence string) *messaging_api.FlexText {
	return &messaging_api.FlexText{Text: sentence, Size: "sm", Color: colorSecond, Wrap: true, Margin: "lg"}
}

func button(label, uri string) *messaging_api.FlexButton {
	return &messaging_api.FlexButton{Style: messaging_api.FlexButtonSTYLE_PRIMARY, Color: colorButton, Action: &messaging_api.UriAction{Label: label, Uri: uri}}
}

// encode writes the request's bytes. Its own structs, not the SDK's, because those add fields as null.
func encode(to, alt string, bubble *messaging_api.FlexBubble) ([]byte, error) {
	type flex struct {
		Type     string `json:"type"`
		AltText  string `json:"altText"`
		Contents any    `json:"contents"`
	}
	return json.Marshal(struct {
		To       string `json:"to"`
		Messages []flex `json:"messages"`
	}{to, []flex{{"flex", alt, plain(bubble)}}})
}

// plain returns what the SDK's MarshalJSON makes of a part of a message, to be encoded at one go. Their own methods
// encode what is inside again at each level, which took a fifth of the time of sending a reminder.
func plain(part any) any {
	switch part := part.(type) {
	case *messaging_api.FlexBubble:
		return struct {
			Type   string `json:"type"`
			Header any    `json:"header,omitempty"`
			Body   any    `json:"body"`
			Footer any    `json:"footer"`
		}{"bubble", plain(part.Header), plain(part.Body), plain(part.Footer)}
	case *messaging_api.FlexBox:
		type box messaging_api.FlexBox
		contents := make([]any, len(part.Contents))
		for i, c := range part.Contents {
			contents[i] = plain(c)
		}
		return struct {
			Type string `json:"type"`
			*box
			Contents []any `json:"contents"`
		}{"box", (*box)(part), contents}
	case *messaging_api.FlexText:
		type text messaging_api.FlexText
		return struct {
			Type string `json:"type"`
			*text
		}{"text", (*text)(part)}
	case *messaging_api.FlexSeparator:
		type separator messaging_api.FlexSeparator
		return struct {
			Type string `json:"type"`
			*separator
		}{"separator", (*separator)(part)}
	case *messaging_api.FlexButton:
		type button messaging_api.FlexButton
		return struct {
			Type string `json:"type"`
			*button
			Action any `json:"action"`
		}{"button", (*button)(part), plain(part.Action)}
	case *messaging_api.UriAction:
		type action messaging_api.UriAction
		return struct {
			Type string `json:"type"`
			*action
		}{"uri", (*action)(part)}
	}
	return part
}
