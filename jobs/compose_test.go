package jobs_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs"
	"shiftpost/views/text"
)

func newComposer(t testing.TB) *jobs.Composer {
	t.Helper()
	return dbtest.Must(jobs.NewComposer("https://liff.line.me", "1234567890-AbcdEfgh", dbtest.Tokyo))(t)
}

// said is a shift in words.
func said(t testing.TB, classroom, date, times string) *roster.ToldShift {
	t.Helper()
	return &roster.ToldShift{Classroom: classroom, Date: dbtest.Must(roster.ParseDate(date))(t), Times: dbtest.Must(roster.ParseTimeRange(times))(t)}
}

func TestNoticesSpeakShortJapaneseAboutTheReceiversOwnShiftAlone(t *testing.T) {
	t.Parallel()
	evening, later := said(t, "駅前教室", "2027-01-08", "17:00-21:30"), said(t, "駅前教室", "2027-01-08", "18:00-21:30")
	night, elsewhere := said(t, "本町教室", "2027-01-09", "23:00-25:30"), said(t, "本町教室", "2027-01-12", "25:00-29:00")
	button := "シフト表を開く"
	for _, c := range []struct {
		name string
		m    roster.NoticeMessage
		want []string // the alternative text, then all words in reading order
	}{
		{"a reminder", roster.NoticeMessage{Kind: roster.ShiftReminder, Now: evening}, []string{
			"出勤のお知らせ：2027年1月8日(金) 17:00–21:30 駅前教室",
			"出勤のお知らせ", "日付", "2027年1月8日(金)", "時間", "17:00–21:30", "教室", "駅前教室", button}},
		{"a reminder of a night", roster.NoticeMessage{Kind: roster.ShiftReminder, Now: night}, []string{
			"出勤のお知らせ：2027年1月9日(土) 23:00–翌1:30 本町教室",
			"出勤のお知らせ", "日付", "2027年1月9日(土)", "時間", "23:00–翌1:30", "教室", "本町教室", button}},
		{"a reminder of what was told otherwise", roster.NoticeMessage{Kind: roster.ShiftReminder, Before: evening, Now: later}, []string{
			"出勤のお知らせ：2027年1月8日(金) 18:00–21:30 駅前教室",
			"出勤のお知らせ", "日付", "2027年1月8日(金)", "時間", "17:00–21:30 → 18:00–21:30", "教室", "駅前教室", button}},
		{"a correction of the time", roster.NoticeMessage{Kind: roster.ShiftCorrection, Before: evening, Now: later}, []string{
			"シフトの変更：2027年1月8日(金) 18:00–21:30 駅前教室",
			"シフトの変更", "日付", "2027年1月8日(金)", "時間", "17:00–21:30 → 18:00–21:30", "教室", "駅前教室", button}},
		{"a correction of everything", roster.NoticeMessage{Kind: roster.ShiftCorrection, Before: evening, Now: elsewhere}, []string{
			"シフトの変更：2027年1月12日(火) 翌1:00–翌5:00 本町教室",
			"シフトの変更", "日付", "2027年1月8日(金) → 2027年1月12日(火)", "時間", "17:00–21:30 → 翌1:00–翌5:00", "教室", "駅前教室 → 本町教室", button}},
		{"a correction that is not sure what was told", roster.NoticeMessage{Kind: roster.ShiftCorrection, Now: later}, []string{
			"シフトの変更：2027年1月8日(金) 18:00–21:30 駅前教室",
			"シフトの変更", "日付", "2027年1月8日(金)", "時間", "18:00–21:30", "教室", "駅前教室", button}},
		{"a cancellation", roster.NoticeMessage{Kind: roster.ShiftCancellation, Before: night}, []string{
			"シフトの取消：2027年1月9日(土) 23:00–翌1:30 本町教室",
			"シフトの取消", "日付", "2027年1月9日(土)", "時間", "23:00–翌1:30", "教室", "本町教室", "上記の出勤はありません。", button}},
		{"a cancellation that is not sure what was told", roster.NoticeMessage{Kind: roster.ShiftCancellation, Gone: []roster.ToldShift{*evening, *later}}, []string{
			"シフトの取消：2027年1月8日(金) 17:00–21:30 駅前教室・2027年1月8日(金) 18:00–21:30 駅前教室",
			"シフトの取消", "日付", "2027年1月8日(金)", "時間", "17:00–21:30", "教室", "駅前教室",
			"日付", "2027年1月8日(金)", "時間", "18:00–21:30", "教室", "駅前教室", "上記の出勤はありません。", button}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.m.LINEID, c.m.DocumentID = dbtest.LINEUserID(1), "AbC-123"
			body := dbtest.Must(newComposer(t).ComposeNotice(c.m))(t)
			var push struct {
				To       string
				Messages []json.RawMessage
			}
			if err := json.Unmarshal(body, &push); err != nil {
				t.Fatal(err)
			}
			if push.To != dbtest.LINEUserID(1) || len(push.Messages) != 1 {
				t.Fatalf("%d messages go to %s", len(push.Messages), push.To)
			}
			if got := words(t, push.Messages[0]); !slices.Equal(got, c.want) {
				t.Errorf("it says\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			if !contains(string(body), `"uri":"https://liff.line.me/1234567890-AbcdEfgh/documents/AbC-123"`) {
				t.Errorf("the button does not open the newest table: %s", body)
			}
		})
	}
}

func TestANoticeOfAMonthWithoutATableOpensTheViewer(t *testing.T) {
	t.Parallel()
	body := dbtest.Must(newComposer(t).ComposeNotice(roster.NoticeMessage{Kind: roster.ShiftReminder, LINEID: dbtest.LINEUserID(1), Now: said(t, "駅前教室", "2027-01-08", "17:00-21:30")}))(t)
	if !contains(string(body), `"uri":"https://liff.line.me/1234567890-AbcdEfgh"`) {
		t.Errorf("the button leads elsewhere: %s", body)
	}
}

func TestTheLongestNoticeIsOneThatLINETakes(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	long := said(t, strings.Repeat("長", roster.MaxNameLength), "2027-12-30", "23:59-29:59")
	m := roster.NoticeMessage{Kind: roster.ShiftCancellation, LINEID: dbtest.LINEUserID(1), DocumentID: strings.Repeat("A", 26)}
	for range 10 { // as many as are named
		m.Gone = append(m.Gone, *long)
	}
	for _, m := range []roster.NoticeMessage{m, {Kind: roster.ShiftCorrection, LINEID: m.LINEID, Before: long, Now: said(t, strings.Repeat("別", roster.MaxNameLength), "2027-12-31", "23:58-29:58")}} {
		body := dbtest.Must(newComposer(t).ComposeNotice(m))(t)
		if _, err := newClient(s.School, s.sim).Push(t.Context(), body, "3f2504e0-4f89-41d3-9a0c-0305e82c330"+itoa(int64(len(s.chat(1))))); err != nil {
			t.Error(err)
		}
	}
	for _, alt := range s.chat(1) {
		if n := len(utf16.Encode([]rune(alt))); n > 400 {
			t.Errorf("the alternative text has %d units", n)
		}
	}
}

func TestABodyNeverHoldsARelativeTime(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.move(t, x.ID, roster.ShiftDeleted)
	s.pastUndo(t)
	for _, m := range s.sim.Messages(dbtest.LINEUserID(1)) {
		for _, relative := range []string{"時間後", "分後", "まもなく", "今日", "明日", "本日"} {
			if all := strings.Join(words(t, m.Object), "\n"); contains(all, relative) {
				t.Errorf("a message says %s, which is wrong when it is read later:\n%s", relative, all)
			}
		}
	}
}

func TestANoticeOpensTheNewestTableOfItsMonth(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 1, 12, "17:00-21:30")
	s.Publish(t)
	s.Confirm(t, 1, 15, "17:00-21:30")
	newest := dbtest.Must(s.Store.Delivery(t.Context(), s.Publish(t).DeliveryID))(t).Publication
	s.told(t)
	messages := s.sim.Messages(dbtest.LINEUserID(1))
	if uris := messages[0].URIs(); len(uris) != 1 || !contains(uris[0], newest.DocumentID) {
		t.Errorf("the button leads to %v, want the document %s", uris, newest.DocumentID)
	}
}

func TestMessagesHaveWordsInBothLanguages(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"reminder_title", "reminder_alt", "correction_title", "correction_alt", "cancellation_title", "cancellation_alt", "arrow", "open", "date_label", "time_label", "classroom_label"} {
		ja := text.T(text.WithLanguage(context.Background(), text.Japanese), "messages."+key, "Shift", "", "Before", "", "After", "")
		en := text.T(text.WithLanguage(context.Background(), text.English), "messages."+key, "Shift", "", "Before", "", "After", "")
		if ja == "" || en == "" || strings.HasPrefix(ja, "messages.") || strings.HasPrefix(en, "messages.") {
			t.Errorf("%s is %q in Japanese and %q in English", key, ja, en)
		}
	}
}

func TestAMessageWithoutWordsIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := newComposer(t).ComposeNotice(roster.NoticeMessage{Kind: roster.PublicationChange}); err == nil {
		t.Error("a kind without words was composed")
	}
}
