package views

import (
	"context"
	"fmt"

	"github.com/a-h/templ"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// QuotaField is the field that says to send although the month's messages become too few.
const QuotaField = "over_quota"

// QuotaUse is what sending some messages does to the month's limit.
type QuotaUse struct {
	roster.Quota
	Messages int    // that are about to be sent
	Form     string // the id of the form that sends them
	Error    string // why it was not sent; empty if it was not tried
}

func (u QuotaUse) leftAfter() int { return max(0, u.Left()-u.Messages) }

// attrs tie the question to the form that sends.
func (u QuotaUse) attrs() templ.Attributes {
	a := templ.Attributes{"form": u.Form, "required": true}
	if u.Error != "" {
		a["aria-invalid"], a["aria-describedby"] = "true", QuotaField+"-error"
	}
	return a
}

// costFacts say what sending some messages costs, and what it leaves of the month's limit as far as that is known.
func costFacts(ctx context.Context, q roster.Quota, messages int) []string {
	facts := []string{text.N(ctx, "quota.cost", messages)}
	switch {
	case !q.Known() || !q.Limited:
		return facts
	case messages > q.Left():
		return append(facts, text.T(ctx, "quota.too_few", "Left", q.Left()))
	case q.With(messages) == roster.QuotaOver:
		return append(facts, text.T(ctx, "quota.missing_later", "Left", q.Left()-messages, "Missing", q.Forecast()+messages-q.Limit))
	}
	return append(facts, text.T(ctx, "quota.left_after", "Left", q.Left()-messages))
}

// quotaParts are a month's messages as lengths of a bar that ends at the limit, in thousandths of it.
type quotaParts struct {
	Used   int // used already
	This   int // what is asked about
	ToCome int // waiting, and reminders to come
}

// quotaPartsOf measures a month's messages with some more.
func quotaPartsOf(q roster.Quota, messages int) quotaParts {
	if q.Limit <= 0 {
		return quotaParts{Used: barLength}
	}
	part := func(n int) int { return n * barLength / q.Limit }
	b := quotaParts{Used: min(part(q.Used()), barLength)}
	b.This = min(part(messages), barLength-b.Used)
	b.ToCome = min(part(q.Waiting+q.Reminders), barLength-b.Used-b.This)
	return b
}

// barLength is the length of a bar in its own units.
const barLength = 1000

// percent writes a part of a bar as a length in SVG.
func percent(n int) string { return fmt.Sprintf("%d.%d%%", n/10, n%10) }
