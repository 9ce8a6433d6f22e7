package handlers

import (
	"net/http"
	"testing"

	"shiftpost/db"
)

func TestPublishSaysWhatItLeavesOfTheMonthsMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		reading db.QuotaReading
		has     []string
		lacks   []string
	}{
		{"enough", db.QuotaReading{Limited: true, Limit: 200, Used: 46},
			[]string{"上限 200通／月", "残り", "154 → <strong>140通</strong>", "<strong>61</strong> / 200", "今回 14", `<rect class="quota-this" x="23.0%" width="7.0%"`}, []string{"見込みです。", "over_quota"}},
		{"tight", db.QuotaReading{Limited: true, Limit: 200, Used: 150}, []string{"月末に上限の80%（160通）に届く見込みです。"}, []string{"over_quota"}},
		{"over by the month's end", db.QuotaReading{Limited: true, Limit: 200, Used: 186},
			[]string{"公開すると、月末までに1通足りなくなる見込みです。", `name="over_quota"`, `form="publish-form"`, "足りなくなることを承知で公開する"}, nil},
		{"too few for the group", db.QuotaReading{Limited: true, Limit: 200, Used: 188}, []string{"LINEの残りは12通です。グループへの公開（14通）には足りません。", `name="over_quota"`}, nil},
		{"no limit", db.QuotaReading{Used: 900}, nil, []string{"quota-bar", "上限"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t)
			if err := s.Store.RecordQuota(t.Context(), c.reading); err != nil {
				t.Fatal(err)
			}
			s.Confirm(t, 0, 20, "17-2130")
			s.get(s.publishing()).wantStatus(http.StatusOK).contains(c.has...).lacks(c.lacks...)
			s.get(s.publishing(), "Accept-Language", "en").lacks(">quota.", " quota.", "{{")
		})
	}
}

func TestPublishingWithTooFewMessagesLeftNeedsAYes(t *testing.T) {
	t.Parallel()
	s := newSchool(t)
	if err := s.Store.RecordQuota(t.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 188}); err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, 0, 20, "17-2130")
	s.publish().wantStatus(http.StatusUnprocessableEntity).
		contains("<title>エラー：", "通数が足りなくなる見込みです。承知のうえで公開するときは、ここに印を付けてください。", `aria-invalid="true"`, `id="over_quota-error"`)
	if len(s.publications()) != 0 {
		t.Fatal("it was published without a yes")
	}
	s.publish("over_quota", "true").wantStatus(http.StatusSeeOther)
	if len(s.publications()) != 1 {
		t.Error("it was not published after a yes")
	}
	// Without a LINE group nothing is sent, and nothing asked.
	s = newSchool(t)
	if err := s.Store.RecordQuota(t.Context(), db.QuotaReading{Limited: true, Limit: 200, Used: 200}); err != nil {
		t.Fatal(err)
	}
	s.exec(`UPDATE groups SET line_group_id = ''`)
	s.Confirm(t, 0, 20, "17-2130")
	s.publish().wantStatus(http.StatusSeeOther)
}
