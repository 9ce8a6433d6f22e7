package views

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

func TestEveryCodeIsExplainedWithWhatToDo(t *testing.T) {
	t.Parallel()
	codes := append([]roster.Code{"HTTP_302", "HTTP_400", "HTTP_401", "HTTP_403", "HTTP_404", "HTTP_409", "HTTP_413", "HTTP_429", "HTTP_500", "HTTP_503", "HTTP_599"}, roster.Codes...)
	for _, language := range text.Languages {
		ctx := text.WithLanguage(context.Background(), language)
		reasons := map[string]roster.Code{}
		for _, c := range codes {
			reason, next := CodeReason(ctx, c), CodeNext(ctx, c)
			if strings.HasPrefix(reason, "deliveries.") || strings.HasPrefix(next, "deliveries.") {
				t.Errorf("%s in %s: no sentence", c, language)
			}
			if n := httpStatus(c); n != 0 && !strings.Contains(reason, fmt.Sprint(n)) {
				t.Errorf("%s in %s: the status is not in %q", c, language, reason)
			}
			if other, ok := reasons[reason]; ok {
				t.Errorf("%s and %s in %s: the same sentence %q", c, other, language, reason)
			}
			reasons[reason] = c
		}
	}
}

func TestEveryStateKindEventAndHoldHasItsWords(t *testing.T) {
	t.Parallel()
	keys := []string{}
	for _, s := range roster.DeliveryStates {
		keys = append(keys, "deliveries.state."+string(s))
	}
	for _, k := range []roster.DeliveryKind{roster.ShiftPublication, roster.ShiftReminder, roster.ShiftCorrection, roster.ShiftCancellation, roster.PublicationChange} {
		keys = append(keys, "deliveries.kind."+string(k), "deliveries.title."+string(k))
	}
	for _, h := range []roster.HoldCause{roster.HoldUnauthorized, roster.HoldForbidden, roster.HoldRateLimit, roster.HoldMonthlyLimit, roster.HoldClock} {
		keys = append(keys, "deliveries.hold."+string(h)+".title", "deliveries.hold."+string(h)+".help")
	}
	for _, e := range []string{"made", "enqueue_failed", "enqueued", "retried", "new_key", "hurried", "canceled", "compose_failed", "expired"} {
		keys = append(keys, "deliveries.event."+e)
	}
	for _, language := range text.Languages {
		ctx := text.WithLanguage(context.Background(), language)
		for _, key := range keys {
			if text.T(ctx, key) == key {
				t.Errorf("%s is missing in %s", key, language)
			}
		}
	}
}

// planned is a delivery with closed attempts two minutes apart, whose next try is due two minutes after the last.
func planned(state roster.DeliveryState, outcomes ...roster.Outcome) Delivery {
	began := time.Date(2027, 1, 8, 5, 32, 0, 0, time.UTC)
	d := Delivery{
		Delivery:  roster.Delivery{Kind: roster.ShiftPublication, State: state, Ladder: 1, CreatedAt: began},
		RetryBase: 2 * time.Minute, RetryKeyTTL: 24 * time.Hour, Location: time.UTC,
	}
	at := began
	for i, o := range outcomes {
		a := roster.Attempt{Number: i + 1, Ladder: 1, StartedAt: at, FinishedAt: at.Add(time.Second), Outcome: o}
		if o == roster.Accepted {
			a.Status = 200
		}
		if o == roster.Refused {
			a.Status = 400
		}
		if o != roster.Interrupted && o != "" {
			d.LadderTries++
		}
		if o == "" {
			a.FinishedAt = time.Time{}
		}
		d.Attempts = append([]roster.Attempt{a}, d.Attempts...)
		at = at.Add(2 * time.Minute)
	}
	if len(outcomes) > 0 {
		d.FirstTryAt, d.KeyFirstTryAt = began, began
	}
	d.Now = at.Add(-time.Minute)
	if state == roster.Queued {
		d.NextAttemptAt = at
	}
	return d
}

func TestPlanShowsSixTries(t *testing.T) {
	t.Parallel()
	compose := planned(roster.Queued)
	compose.LadderTries, compose.NextAttemptAt = 1, compose.CreatedAt.Add(2*time.Minute)
	compose.Events = []DeliveryEvent{{At: compose.CreatedAt, Event: "compose_failed", Code: roster.CodeInternal}}
	again := planned(roster.Queued, roster.Unknown, roster.Unknown)
	again.Attempts[1].Ladder, again.Ladder, again.LadderTries = 1, 2, 1
	again.Attempts[0].Ladder = 2
	for name, c := range map[string]struct {
		d     Delivery
		class string
		times string
		first int
	}{
		"waiting":           {planned(roster.Queued), "next later later later later later", "05:32:00|05:34ごろ|05:38ごろ|05:46ごろ|06:02ごろ|06:34ごろ", 1},
		"after two tries":   {planned(roster.Queued, roster.Unknown, roster.Unknown), "unknown unknown next later later later", "05:32:00|05:34:00|05:36:00|05:44ごろ|06:00ごろ|06:32ごろ", 1},
		"on its way":        {planned(roster.Processing, roster.Unknown, ""), "unknown next later later later later", "05:32:00|05:34:00|05:38ごろ|05:46ごろ|06:02ごろ|06:34ごろ", 1},
		"sent":              {planned(roster.Sent, roster.Unknown, roster.Accepted), "unknown done later later later later", "05:32:00|05:34:00|不要|不要|不要|不要", 1},
		"refused":           {planned(roster.Failed, roster.Refused), "failed later later later later later", "05:32:00|なし|なし|なし|なし|なし", 1},
		"interrupted once":  {planned(roster.Queued, roster.Interrupted, roster.Unknown), "unknown next later later later later", "05:34:00|05:36:00|05:40ごろ|05:48ごろ|06:04ごろ|06:36ごろ", 2},
		"not built":         {compose, "failed next later later later later", "05:32:00|05:34:00|05:38ごろ|05:46ごろ|06:02ごろ|06:34ごろ", 1},
		"a second ladder":   {again, "unknown next later later later later", "05:34:00|05:36:00|05:40ごろ|05:48ごろ|06:04ごろ|06:36ごろ", 2},
		"ladder ran out":    {planned(roster.Failed, roster.Unknown, roster.Unknown, roster.Unknown, roster.Unknown, roster.Unknown, roster.Unknown), "unknown unknown unknown unknown unknown unknown", "", 1},
		"canceled, untried": {planned(roster.Canceled), "later later later later later later", "なし|なし|なし|なし|なし|なし", 1},
	} {
		var classes, times []string
		for i, s := range c.d.plan(context.Background()) {
			classes, times = append(classes, s.Class), append(times, s.Time)
			if want := c.first + i; s.Number != want {
				t.Errorf("%s: try %d stands where %d belongs", name, s.Number, want)
			}
		}
		if got := strings.Join(classes, " "); got != c.class {
			t.Errorf("%s: %s, want %s", name, got, c.class)
		}
		if got := strings.Join(times, "|"); c.times != "" && got != c.times {
			t.Errorf("%s: %s, want %s", name, got, c.times)
		}
	}
}

func TestHistoryIsNewestFirstAndTellsAnInterruptionOnce(t *testing.T) {
	t.Parallel()
	d := planned(roster.Queued, roster.Interrupted, roster.Unknown)
	d.Attempts[0].Code = roster.CodeTimeout
	d.By = "見本 室長"
	d.Events = []DeliveryEvent{{At: d.Attempts[1].FinishedAt, Event: "interrupted"}, {At: d.CreatedAt.Add(30 * time.Second), Event: "hurried", Admin: "見本 室長"}}
	var titles []string
	for _, e := range d.history(context.Background()) {
		titles = append(titles, e.Title)
	}
	want := "3回目の予定 / 2回目　返事なし（打ち切り） / 次の送信を早めた / 1回目　途中で止まった / 保存し、送信待ちに入れた"
	if got := strings.Join(titles, " / "); got != want {
		t.Errorf("history\n%s, want\n%s", got, want)
	}
}

func TestDeliveryThatCouldNotBeQueuedTellsSoOnce(t *testing.T) {
	t.Parallel()
	d := planned(roster.Pending)
	d.Code, d.NextAttemptAt = roster.CodeEnqueueFailed, d.CreatedAt.Add(15*time.Minute)
	d.Events = []DeliveryEvent{{At: d.CreatedAt, Event: "enqueue_failed"}}
	ctx := context.Background()
	if h := d.history(ctx); len(h) != 1 || h[0].Title != "保存したが、送信待ちに入れられなかった" {
		t.Errorf("history %+v", h)
	}
	if h := d.headline(ctx); h.Title != "まだ送っていません" || h.Next != "次は 05:47:00 です。" {
		t.Errorf("headline %+v", h)
	}
}
