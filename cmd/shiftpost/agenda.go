package main

import (
	"context"
	"slices"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/views/text"
)

// agendaLength is how many appointments the simulator's page shows.
const agendaLength = 6

// agenda lists what the product is going to do by itself, the soonest first: the next tries of waiting deliveries, the
// looks at holds and the sweeps. It names no teacher. What cannot be read is left out and logged.
func (a *app) agenda(ctx context.Context) []linesim.Appointment {
	var all []linesim.Appointment
	for _, s := range a.sweeps.Next() {
		all = append(all, linesim.Appointment{At: s.At, Title: text.T(ctx, "demo.agenda.sweep."+s.Name)})
	}
	holds, err := a.store.Holds(ctx)
	if err != nil {
		a.log.Warn("the simulator's page lacks the holds", "error", err)
	}
	for _, h := range holds {
		if !h.ProbeAt.IsZero() {
			all = append(all, linesim.Appointment{At: h.ProbeAt, Title: text.T(ctx, "demo.agenda.hold."+string(h.Cause))})
		}
	}
	tries, err := a.store.WaitingTries(ctx, agendaLength)
	if err != nil {
		a.log.Warn("the simulator's page lacks the next tries", "error", err)
	}
	for _, d := range tries {
		if !held(d.Delivery, holds) {
			all = append(all, linesim.Appointment{At: d.NextAttemptAt, Title: tryTitle(ctx, d)})
		}
	}
	now := a.store.Now()
	all = slices.DeleteFunc(all, func(x linesim.Appointment) bool { return !x.At.After(now) })
	slices.SortStableFunc(all, func(a, b linesim.Appointment) int { return a.At.Compare(b.At) })
	return all[:min(len(all), agendaLength)]
}

// held reports whether a hold keeps a delivery's next try back beyond its instant.
func held(d roster.Delivery, holds []roster.Hold) bool {
	return slices.ContainsFunc(holds, func(h roster.Hold) bool {
		return (h.Notices || !d.Kind.Notice()) && (h.ProbeAt.IsZero() || h.ProbeAt.After(d.NextAttemptAt))
	})
}

func tryTitle(ctx context.Context, d db.DeliveryRow) string {
	switch {
	case d.Kind == roster.ReceiptRequest:
		return text.T(ctx, "demo.agenda.receipt_request", "Try", d.Attempts+1, "Month", text.MonthAlone(ctx, d.Month), "Number", d.Number)
	case !d.Kind.Notice():
		return text.T(ctx, "demo.agenda.publication", "Try", d.Attempts+1, "Month", text.MonthAlone(ctx, d.Month), "Number", d.Number)
	}
	return text.T(ctx, "demo.agenda.notice", "Try", d.Attempts+1, "Kind", text.T(ctx, "deliveries.kind."+string(d.Kind)), "Date", text.ShortDate(ctx, d.Work.Date))
}
