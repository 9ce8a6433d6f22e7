package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"shiftpost/db/roster"
)

// ErrOutdated tells that a newer publication of the month exists.
var ErrOutdated = errors.New("a newer publication exists")

const receiptColumns = `r.opened_at, r.confirmed_at, r.own`

// scanReceipt reads receiptColumns of an outer join: a missing row is the zero receipt.
func scanReceipt(r *roster.Receipt, own *[]byte) []any {
	return []any{scanInstant(&r.OpenedAt), scanInstant(&r.ConfirmedAt), own}
}

func fillReceipt(r *roster.Receipt, own []byte) error {
	if own == nil {
		return nil
	}
	return json.Unmarshal(own, &r.Own)
}

func receipt(ctx context.Context, q querier, publicationID, teacherID int64) (roster.Receipt, error) {
	v, err := one(ctx, q, func(row scanner) (roster.Receipt, error) {
		var r roster.Receipt
		var own []byte
		if err := row.Scan(scanReceipt(&r, &own)...); err != nil {
			return r, err
		}
		return r, fillReceipt(&r, own)
	}, `SELECT `+receiptColumns+` FROM receipts r WHERE publication_id = ? AND teacher_id = ?`, publicationID, teacherID)
	if errors.Is(err, ErrNotFound) {
		return roster.Receipt{}, nil
	}
	return v, wrap(err, "receipt of teacher %d", teacherID)
}

// confirmation finds the last time a teacher confirmed a publication of a group's month with a number up to one, nil if
// they never did. Its changes lead to live, the teacher's part of the month now.
func confirmation(ctx context.Context, q querier, p roster.Publication, upTo int, teacherID int64, live roster.Snapshot) (*roster.Confirmation, error) {
	c, err := one(ctx, q, func(row scanner) (*roster.Confirmation, error) {
		var c roster.Confirmation
		var own []byte
		if err := row.Scan(&c.Number, scanInstant(&c.At), &own); err != nil {
			return nil, err
		}
		var before roster.Snapshot
		if err := json.Unmarshal(own, &before); err != nil {
			return nil, err
		}
		c.Changes = roster.Compare(before, live)
		return &c, nil
	}, `SELECT p.number, r.confirmed_at, r.own FROM receipts r JOIN publications p ON p.id = r.publication_id
		WHERE p.group_id = ? AND p.month = ? AND p.number <= ? AND r.teacher_id = ? AND r.confirmed_at IS NOT NULL
		ORDER BY r.confirmed_at DESC, p.number DESC LIMIT 1`, p.GroupID, p.Month, upTo, teacherID)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return c, wrap(err, "last confirmation of teacher %d", teacherID)
}

// RecordOpening notes that a teacher opened a publication, if that was not noted before.
func (s *Store) RecordOpening(ctx context.Context, publicationID, teacherID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`INSERT INTO receipts (publication_id, teacher_id, opened_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, publicationID, teacherID, at(t.now))
		return err
	})
	return wrap(err, "record that teacher %d opened publication %d", teacherID, publicationID)
}

// Confirm notes that a teacher confirmed the publication with that document id and their own shifts of its month, of
// which they saw what has the hash shown. Beside failures the error is ErrNotFound, ErrOutdated if it is not the newest
// publication, or ErrSheetChanged if their shifts are no longer what they saw; then nothing was noted.
func (s *Store) Confirm(ctx context.Context, documentID string, teacherID int64, shown string) error {
	err := s.inTx(ctx, func(t *tx) error {
		p, err := one(t.ctx, t, scanPublication, `SELECT `+publicationColumns+` FROM publications p WHERE document_id = ?`, documentID)
		if err != nil {
			return err
		}
		newest, err := newestPublication(t.ctx, t, p.GroupID, p.Month)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if newest.Number > p.Number {
			return ErrOutdated
		}
		own, err := ownPart(t.ctx, t, p.GroupID, p.Month, teacherID)
		if err != nil {
			return err
		}
		if own.Hash() != shown {
			return ErrSheetChanged
		}
		encoded, err := json.Marshal(own)
		if err != nil {
			return fmt.Errorf("encode own shifts: %w", err)
		}
		_, err = t.exec(`INSERT INTO receipts (publication_id, teacher_id, opened_at, confirmed_at, own) VALUES (?1, ?2, ?3, ?3, ?4)
			ON CONFLICT DO UPDATE SET confirmed_at = excluded.confirmed_at, own = excluded.own`, p.ID, teacherID, at(t.now), string(encoded))
		return err
	})
	return wrap(err, "confirm a document as teacher %d", teacherID)
}

// ownPart reads a teacher's confirmed shifts of a group's month as they are now.
func ownPart(ctx context.Context, q querier, groupID int64, month roster.Month, teacherID int64) (roster.Snapshot, error) {
	g, err := group(ctx, q, groupID)
	if err != nil {
		return roster.Snapshot{}, err
	}
	live, err := snapshot(ctx, q, g, month)
	return live.Of(teacherID), err
}

// Receipts lists who opened and who confirmed a publication, in the order of the table's columns and after them by id:
// every teacher with a shift in it, and whoever opened it beside them. The error is ErrNotFound if there is no such
// publication.
func (s *Store) Receipts(ctx context.Context, publicationID int64) ([]roster.TeacherReceipt, error) {
	all, err := receipts(ctx, s.read, publicationID)
	return all, wrap(err, "receipts of publication %d", publicationID)
}

func receipts(ctx context.Context, q querier, publicationID int64) ([]roster.TeacherReceipt, error) {
	p, err := publicationAlone(ctx, q, publicationID)
	if err != nil {
		return nil, err
	}
	g, err := group(ctx, q, p.GroupID)
	if err != nil {
		return nil, err
	}
	live, err := snapshot(ctx, q, g, p.Month)
	if err != nil {
		return nil, err
	}
	opened := map[int64]roster.Receipt{}
	var order []int64
	for _, n := range p.Sheet.Snapshot.Teachers {
		order = append(order, n.ID)
		opened[n.ID] = roster.Receipt{}
	}
	type row struct {
		teacherID int64
		receipt   roster.Receipt
	}
	rows, err := list(ctx, q, func(r scanner) (row, error) {
		var x row
		var own []byte
		if err := r.Scan(append([]any{&x.teacherID}, scanReceipt(&x.receipt, &own)...)...); err != nil {
			return x, err
		}
		return x, fillReceipt(&x.receipt, own)
	}, `SELECT r.teacher_id, `+receiptColumns+` FROM receipts r WHERE publication_id = ? ORDER BY r.teacher_id`, publicationID)
	if err != nil {
		return nil, err
	}
	for _, x := range rows {
		if _, known := opened[x.teacherID]; !known {
			order = append(order, x.teacherID)
		}
		opened[x.teacherID] = x.receipt
	}
	all := make([]roster.TeacherReceipt, 0, len(order))
	for _, id := range order {
		v := roster.TeacherReceipt{Receipt: opened[id], Shifts: len(p.Sheet.Snapshot.ShiftsOf(id)), State: roster.ReceiptNone}
		if v.Teacher, err = teacher(ctx, q, id); err != nil {
			return nil, err
		}
		own := live.Of(id)
		switch {
		case v.Receipt.Confirmed(own):
			v.State = roster.ReceiptConfirmed
		case !v.Receipt.ConfirmedAt.IsZero():
			v.State = roster.ReceiptStale
		case !v.Receipt.OpenedAt.IsZero():
			v.State = roster.ReceiptOpened
		}
		if v.State == roster.ReceiptNone || v.State == roster.ReceiptOpened {
			earlier, err := confirmation(ctx, q, p, p.Number-1, id, own)
			if err != nil {
				return nil, err
			}
			if earlier != nil && len(earlier.Changes) == 0 {
				v.Earlier = earlier
			}
		}
		all = append(all, v)
	}
	return all, nil
}
