package handlers

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// showChannel shows how the connection to LINE stands.
func (s *Site) showChannel(c echo.Context) error {
	ctx := c.Request().Context()
	v := views.Channel{Now: s.clock.Now(), Location: s.loc}
	var err error
	if v.Holds, err = s.holds(ctx); err != nil {
		return err
	}
	runs, err := s.store.SweepRuns(ctx)
	if err != nil {
		return err
	}
	for _, name := range views.SweepNames {
		line := views.SweepLine{Name: name, Every: s.store.DeliveryOptions().SweepEvery}
		for _, r := range runs {
			if r.Name == name {
				line.RanAt, line.Handled, line.Failed = r.RanAt, r.Handled, r.Error != ""
			}
		}
		v.Sweeps = append(v.Sweeps, line)
	}
	if nothingNew(c, v.Seen()) {
		return c.NoContent(http.StatusNoContent)
	}
	return s.render(c, screen{
		page:     views.Page{Title: text.T(ctx, "channel.title"), Place: views.PlaceDeliveries, Styles: []string{"delivery.css"}},
		body:     views.ChannelPage(v),
		fragment: views.ChannelContent(v),
	})
}

// holds lists why pushes wait now, with what each cause keeps back.
func (s *Site) holds(ctx context.Context) ([]views.Hold, error) {
	all, err := s.store.Holds(ctx)
	if err != nil {
		return nil, err
	}
	var list []views.Hold
	for _, h := range all {
		work, err := s.store.HeldWork(ctx, h)
		if err != nil {
			return nil, err
		}
		list = append(list, views.Hold{Hold: h, Work: work})
	}
	return list, nil
}

// deleteHold lets pushes go on although nobody has made sure that the cause is gone. Pressed twice it does nothing the
// second time.
func (s *Site) deleteHold(c echo.Context) error {
	ctx := c.Request().Context()
	cause := roster.HoldCause(c.Param("cause"))
	if !slices.Contains(roster.HoldCauses, cause) {
		return db.ErrNotFound
	}
	end := func() error { return s.store.EndHold(ctx, cause) }
	if cause == roster.HoldClock {
		end = func() error { return s.store.ResumeClock(ctx) }
	}
	if err := end(); err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "channel.resumed"))
	s.wake()
	return redirect(c, views.ChannelPath)
}
