package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// Document reads the publication with that document id as the viewer shows it to a teacher; teacher 0 stands for an
// admin, who has no shifts. The error is ErrNotFound if no publication has the id.
//
// The teacher's own shifts come from every month that has a publication, of all groups, from the document's month or
// the day before the present one on, whichever is earlier: a shift of yesterday may still run.
func (s *Store) Document(ctx context.Context, documentID string, teacherID int64) (roster.Document, error) {
	var d roster.Document
	err := s.inRead(ctx, func(q querier) (err error) {
		d, err = document(ctx, q, documentID, teacherID, roster.DateOf(s.Now(), s.loc))
		return err
	})
	return d, wrap(err, "document")
}

func document(ctx context.Context, q querier, documentID string, teacherID int64, today roster.Date) (roster.Document, error) {
	p, err := publication(ctx, q, `document_id = ?`, documentID)
	if err != nil {
		return roster.Document{}, err
	}
	d := roster.Document{Publication: p, NewestNumber: p.Number, NewestDocumentID: p.DocumentID}
	g, err := group(ctx, q, p.GroupID)
	if err != nil {
		return d, wrap(err, "group %d", p.GroupID)
	}
	d.GroupName = g.Name
	newest, err := newestPublication(ctx, q, p.GroupID, p.Month)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return d, wrap(err, "newest publication")
	}
	if newest.Number > p.Number {
		d.NewestNumber, d.NewestDocumentID = newest.Number, newest.DocumentID
	}
	if teacherID == 0 {
		return d, nil
	}
	from := today.AddDays(-1).MonthOf()
	if p.Month.First().Before(from.First()) {
		from = p.Month
	}
	if d.Own, err = ownMonths(ctx, q, teacherID, from); err != nil {
		return d, err
	}
	if d.Live, err = ownPart(ctx, q, p.GroupID, p.Month, teacherID); err != nil {
		return d, err
	}
	if d.Receipt, err = receipt(ctx, q, p.ID, teacherID); err != nil {
		return d, err
	}
	if d.LastConfirmed, err = confirmation(ctx, q, p, d.NewestNumber, teacherID, d.Live); err != nil {
		return d, err
	}
	d.HasCalendar, err = hasCalendar(ctx, q, teacherID)
	return d, err
}

// PresentDocument returns the document id of the publication that concerns a teacher most: the newest of the month of
// their next shift, else of the earliest month from the present one on, else of the latest month there is. Teacher 0
// stands for an admin. The error is ErrNotFound while nothing is published.
func (s *Store) PresentDocument(ctx context.Context, teacherID int64) (documentID string, err error) {
	err = s.inRead(ctx, func(q querier) (err error) {
		documentID, err = presentDocument(ctx, q, teacherID, s.Now(), s.loc)
		return err
	})
	return documentID, wrap(err, "present document of teacher %d", teacherID)
}

func presentDocument(ctx context.Context, q querier, teacherID int64, now time.Time, loc *time.Location) (string, error) {
	today := roster.DateOf(now, loc)
	own, err := ownMonths(ctx, q, teacherID, today.AddDays(-1).MonthOf())
	if err != nil {
		return "", err
	}
	var next roster.SnapshotShift
	var of roster.OwnMonth
	for _, m := range own {
		for _, x := range m.Live.Shifts {
			if x.End(loc).After(now) && (of.Number == 0 || x.Start(loc).Before(next.Start(loc))) {
				next, of = x, m
			}
		}
	}
	if of.Number != 0 {
		p, err := newestPublication(ctx, q, of.GroupID, of.Month)
		return p.DocumentID, err
	}
	type month struct {
		groupID int64
		month   roster.Month
	}
	all, err := list(ctx, q, func(r scanner) (m month, err error) {
		err = r.Scan(&m.groupID, &m.month)
		return m, err
	}, `SELECT DISTINCT group_id, month FROM publications
		ORDER BY month < ?1, CASE WHEN month >= ?1 THEN month END, CASE WHEN month < ?1 THEN month END DESC, group_id`, today.MonthOf())
	if err != nil {
		return "", err
	}
	for _, m := range all {
		p, err := newestPublication(ctx, q, m.groupID, m.month)
		if !errors.Is(err, ErrNotFound) {
			return p.DocumentID, err
		}
	}
	return "", ErrNotFound
}

// ownMonths reads what a teacher works in each published month from one on. Months in which they neither work nor
// worked by the newest publication are left out.
func ownMonths(ctx context.Context, q querier, teacherID int64, from roster.Month) ([]roster.OwnMonth, error) {
	all, err := list(ctx, q, func(r scanner) (roster.OwnMonth, error) {
		var m roster.OwnMonth
		err := r.Scan(&m.GroupID, &m.Month)
		return m, err
	}, `SELECT DISTINCT group_id, month FROM publications WHERE month >= ? ORDER BY month, group_id`, from)
	if err != nil {
		return nil, fmt.Errorf("published months: %w", err)
	}
	var own []roster.OwnMonth
	for _, m := range all {
		newest, err := newestPublication(ctx, q, m.GroupID, m.Month)
		if errors.Is(err, ErrNotFound) {
			continue // all of them were called off before anybody saw one
		}
		if err != nil {
			return nil, fmt.Errorf("newest publication of %s of group %d: %w", m.Month, m.GroupID, err)
		}
		g, err := group(ctx, q, m.GroupID)
		if err != nil {
			return nil, err
		}
		live, err := snapshot(ctx, q, g, m.Month)
		if err != nil {
			return nil, err
		}
		published := newest.Sheet.Snapshot.Of(teacherID)
		m.Number, m.Live = newest.Number, live.Of(teacherID)
		if len(m.Live.Shifts)+len(published.Shifts) == 0 {
			continue
		}
		m.Changes = roster.Compare(published, m.Live)
		own = append(own, m)
	}
	return own, nil
}
