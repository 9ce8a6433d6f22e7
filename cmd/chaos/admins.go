package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"shiftpost/db/roster"
)

// pool hands out people and boards so that nobody is worked on twice at a time.
type pool struct {
	mu     sync.Mutex
	fresh  []*person // without a shift so far
	busy   []*person // with one
	boards []*board
	used   map[roster.TimeRange]bool // of all shifts, so that no two messages are equal by chance
}

func (p *pool) fill(people []*person, boards []*board) {
	p.fresh, p.boards = slices.Clone(people), slices.Clone(boards)
	p.used = map[roster.TimeRange]bool{}
}

// take removes a random one of those that have waited longest, or returns nil if there is none.
func take[T any](p *pool, from *[]*T, d *dice) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(*from) == 0 {
		return nil
	}
	i := d.n((len(*from) + 3) / 4)
	x := (*from)[i]
	*from = slices.Delete(*from, i, i+1)
	return x
}

func give[T any](p *pool, to *[]*T, x *T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*to = append(*to, x)
}

// back puts a person where they belong now.
func (p *pool) back(x *person) {
	switch {
	case x.ended:
	case x.is == nil:
		give(p, &p.fresh, x)
	default:
		give(p, &p.busy, x)
	}
}

// times returns a time range that no shift of the run had.
func (r *run) times() roster.TimeRange {
	for {
		t := roster.TimeRange{
			Start: firstStart + roster.Minutes(r.dice.n(int(lastStart-firstStart)+1)),
			End:   firstEnd + roster.Minutes(r.dice.n(int(lastEnd-firstEnd)+1)),
		}
		r.pool.mu.Lock()
		again := r.pool.used[t]
		r.pool.used[t] = true
		r.pool.mu.Unlock()
		if !again {
			return t
		}
	}
}

// act does one thing that an admin does, and notes what was acknowledged.
func (r *run) act(ctx context.Context) error {
	switch n := r.dice.n(100); {
	case n < 12:
		if b := take(&r.pool, &r.pool.boards, &r.dice); b != nil {
			defer give(&r.pool, &r.pool.boards, b)
			return r.publish(ctx, b)
		}
	case n < 30:
		if p := take(&r.pool, &r.pool.fresh, &r.dice); p != nil {
			defer r.pool.back(p)
			return r.enter(ctx, p)
		}
	case n < 32:
		return r.retry(ctx)
	}
	p := take(&r.pool, &r.pool.busy, &r.dice)
	if p == nil {
		return nil
	}
	defer r.pool.back(p)
	switch n := r.dice.n(100); {
	case n < 8:
		return r.remove(ctx, p)
	case n < 14:
		if to := r.colleague(p); to != nil {
			defer r.pool.back(to)
			return r.handOver(ctx, p, to)
		}
	case n < 25 && p.mayGoBack():
		return r.goBack(ctx, p)
	}
	return r.change(ctx, p, r.times())
}

// answered sorts what came of a request: whether it was done, or refused in a way that must not happen, or nobody knows.
func (r *run) answered(err error) (done bool, fatal error) {
	var refused *refusedError
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, errUnanswered):
		return false, nil
	case errors.As(err, &refused):
		r.refused.Add(1)
		r.refusal.Store(refused.Error())
		return false, nil
	}
	return false, err
}

// isConflict reports whether a request was refused because things are not as the admin saw them.
func isConflict(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) && refused.status == http.StatusConflict
}

func (r *run) enter(ctx context.Context, p *person) error {
	t := r.times()
	var x shiftAnswer
	done, err := r.answered(r.victim.call(ctx, http.MethodPost, "/shifts", shiftRequest{TeacherID: p.teacherID, ClassroomID: p.classroomID, Date: p.day, Start: t.Start, End: t.End}, &x))
	if err != nil || !done {
		return errors.Join(err, r.reload(ctx, p))
	}
	p.note(x)
	return nil
}

// goBack makes a person's shift what it was before the last edit. After that, words that LINE accepted already can be
// right again.
func (r *run) goBack(ctx context.Context, p *person) error {
	p.wentBack[p.was] = true
	return r.change(ctx, p, p.was)
}

func (p *person) mayGoBack() bool { return p.was != (roster.TimeRange{}) }

func (r *run) change(ctx context.Context, p *person, to roster.TimeRange) error {
	before := *p.is
	var x shiftAnswer
	done, err := r.answered(r.victim.call(ctx, http.MethodPut, fmt.Sprintf("/shifts/%d", p.shiftID),
		shiftRequest{TeacherID: p.teacherID, ClassroomID: p.classroomID, Date: p.day, Start: to.Start, End: to.End, EditNumber: p.editNumber}, &x))
	p.was = before
	if err != nil || !done {
		return errors.Join(err, r.reload(ctx, p))
	}
	p.note(x)
	return nil
}

func (r *run) remove(ctx context.Context, p *person) error {
	done, err := r.answered(r.victim.call(ctx, http.MethodDelete, fmt.Sprintf("/shifts/%d", p.shiftID), deleteRequest{p.editNumber}, nil))
	if err != nil || !done {
		return errors.Join(err, r.reload(ctx, p))
	}
	p.is, p.ended = nil, true
	return nil
}

// colleague takes somebody of the same classroom who has no shift yet.
func (r *run) colleague(p *person) *person {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	i := slices.IndexFunc(r.pool.fresh, func(x *person) bool { return x.classroomID == p.classroomID })
	if i < 0 {
		return nil
	}
	x := r.pool.fresh[i]
	r.pool.fresh = slices.Delete(r.pool.fresh, i, i+1)
	return x
}

// handOver gives a shift to somebody else.
func (r *run) handOver(ctx context.Context, p, to *person) error {
	var x shiftAnswer
	done, err := r.answered(r.victim.call(ctx, http.MethodPut, fmt.Sprintf("/shifts/%d", p.shiftID),
		shiftRequest{TeacherID: to.teacherID, ClassroomID: p.classroomID, Date: p.day, Start: p.is.Start, End: p.is.End, EditNumber: p.editNumber}, &x))
	if err != nil || !done {
		return errors.Join(err, r.reload(ctx, p), r.reload(ctx, to))
	}
	to.note(x)
	p.is, p.ended = nil, true
	return nil
}

func (p *person) note(x shiftAnswer) {
	p.shiftID, p.editNumber, p.is = x.ShiftID, x.EditNumber, &roster.TimeRange{Start: x.Start, End: x.End}
}

// reload looks at the month after a request without an answer, as an admin does: what it shows counts as acknowledged.
func (r *run) reload(ctx context.Context, p *person) error {
	var x shiftAnswer
	err := r.victim.ask(ctx, http.MethodGet, fmt.Sprintf("/teachers/%d/shift?group=%d&date=%s", p.teacherID, p.groupID, p.day), nil, &x)
	switch {
	case err != nil:
		return fmt.Errorf("reload: %w", err)
	case x.ShiftID != 0:
		p.note(x)
	case p.is != nil:
		p.is, p.ended = nil, true
	}
	return nil
}

// publish enters one more shift of a month that nobody is told about by itself, and publishes the month.
func (r *run) publish(ctx context.Context, b *board) error {
	const perDay = 14
	x := shiftRequest{TeacherID: b.teacherID, ClassroomID: b.classroomID, Date: b.month.First().AddDays(b.shifts / perDay % 28)}
	x.Start = roster.Minutes(8+b.shifts%perDay) * 60
	x.End = x.Start + 45
	b.shifts++
	done, err := r.answered(r.victim.call(ctx, http.MethodPost, "/shifts", x, nil))
	if err != nil || !done {
		return err
	}
	var p publishAnswer
	err = r.victim.call(ctx, http.MethodPost, "/publications", publishRequest{b.groupID, b.month}, &p)
	done, err = r.answered(err)
	if err == nil && !done {
		err = r.victim.ask(ctx, http.MethodGet, fmt.Sprintf("/publications?group=%d&month=%s", b.groupID, b.month), nil, &p)
	}
	if err != nil {
		return err
	}
	b.number = p.Number
	return nil
}

// retry tries again all that failed by one reason.
func (r *run) retry(ctx context.Context) error {
	codes := []roster.Code{"HTTP_400", "HTTP_401", "HTTP_403", "HTTP_409", "HTTP_429", "HTTP_500", roster.CodeTimeout, roster.CodeNetwork, roster.CodeInterrupted}
	err := r.victim.call(ctx, http.MethodPost, "/retries", retryRequest{codes[r.dice.n(len(codes))]}, nil)
	if isConflict(err) {
		return nil // it was not what the page had shown
	}
	_, err = r.answered(err)
	return err
}
