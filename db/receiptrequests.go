package db

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"shiftpost/db/roster"
)

// ReceiptRequestPlan says whom asking for the confirmations of a publication would reach now, or why nobody is asked.
// Teachers without a shift in it are not asked, nor who confirmed an earlier version since which nothing of theirs
// changed.
type ReceiptRequestPlan struct {
	Asked   []AskedTeacher // who would get a message, in the order of the receipts
	Cannot  []UnaskedTeacher
	Live    int         // who has one on its way: they are not asked a second time
	NewID   int64       // the newest request for the publication, 0 if there is none
	Refusal roster.Code // why nobody is asked; empty if there is no reason
}

// Digest tells a plan from one that asks other people, or that was made before other requests.
func (p ReceiptRequestPlan) Digest() string {
	h := sha256.New()
	fmt.Fprint(h, p.NewID)
	for _, a := range p.Asked {
		fmt.Fprint(h, " ", a.Teacher.ID)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// AskedTeacher is who would be asked.
type AskedTeacher struct {
	Teacher roster.Teacher
	LastAt  time.Time        // when they were last sent a request for this publication, or may have been; zero if never
	Arrived roster.Certainty // whether that one arrived; empty if there was none
}

// UnaskedTeacher is who has not confirmed and cannot be asked.
type UnaskedTeacher struct {
	Teacher roster.Teacher
	Code    roster.Code
}

// PlanReceiptRequests says what RequestReceipts would do now. The error is ErrNotFound if there is no such publication.
func (s *Store) PlanReceiptRequests(ctx context.Context, publicationID int64) (ReceiptRequestPlan, error) {
	var plan ReceiptRequestPlan
	err := s.inReadTx(ctx, func(t *tx) (err error) {
		plan, err = s.planReceiptRequests(t, publicationID)
		return err
	})
	return plan, wrap(err, "plan to ask for confirmations of publication %d", publicationID)
}

func (s *Store) planReceiptRequests(t *tx, publicationID int64) (ReceiptRequestPlan, error) {
	var plan ReceiptRequestPlan
	p, err := publicationAlone(t.ctx, t, publicationID)
	if err != nil {
		return plan, err
	}
	if plan.Refusal, err = s.confirmable(t, p); err != nil {
		return plan, err
	}
	if err := t.row(`SELECT coalesce(max(id), 0) FROM deliveries WHERE asked_id = ?`, p.ID).Scan(&plan.NewID); err != nil {
		return plan, fmt.Errorf("newest request: %w", err)
	}
	lines, err := receipts(t.ctx, t, p.ID)
	if err != nil {
		return plan, err
	}
	for _, l := range lines {
		if l.Shifts == 0 || l.State == roster.ReceiptConfirmed || l.Earlier != nil || !l.Teacher.Active() {
			continue
		}
		if code := roster.CannotTell(l.Teacher, roster.ReceiptRequest); code != "" {
			plan.Cannot = append(plan.Cannot, UnaskedTeacher{l.Teacher, code})
			continue
		}
		a, live, err := t.asked(p.ID, l.Teacher)
		if err != nil {
			return plan, err
		}
		if live {
			plan.Live++
			continue
		}
		plan.Asked = append(plan.Asked, a)
	}
	return plan, nil
}

// asked reads what a teacher was sent to make them confirm a publication, as the LINE user they are linked to now, and
// whether some of it is on its way.
func (t *tx) asked(publicationID int64, v roster.Teacher) (a AskedTeacher, live bool, err error) {
	a.Teacher = v
	var sentAt, triedAt time.Time
	err = t.row(`SELECT coalesce(max(d.state IN ('pending', 'queued', 'processing')), 0), max(CASE WHEN d.state = 'sent' THEN d.finished_at END),
		max(CASE WHEN d.state <> 'sent' AND `+mayHaveArrived+` THEN (SELECT max(a.started_at) FROM attempts a WHERE a.delivery_id = d.id) END)
		FROM deliveries d WHERE d.asked_id = ? AND d.line_id = ?`, publicationID, v.LINEUserID).Scan(&live, scanInstant(&sentAt), scanInstant(&triedAt))
	switch {
	case triedAt.After(sentAt):
		a.LastAt, a.Arrived = triedAt, roster.Maybe
	case !sentAt.IsZero():
		a.LastAt, a.Arrived = sentAt, roster.Sure
	}
	return a, live, wrap(err, "earlier requests to teacher %d", v.ID)
}

// ReceiptRequestInput says which confirmations an admin asks for.
type ReceiptRequestInput struct {
	PublicationID int64
	AdminID       int64
	Shown         string // the digest of the plan that the admin was shown and agreed to
}

// RequestReceipts asks everybody who has still to confirm a publication to do so: one message each. It returns how many
// it asks. Beside failures the error is ErrNotFound; a *NotWantedError when nobody can confirm the publication any more;
// or ErrEdited when a request was made, or other people are to be asked, since the page was shown, or nobody is; then
// nobody is asked.
func (s *Store) RequestReceipts(ctx context.Context, in ReceiptRequestInput) (int, error) {
	n := 0
	err := s.inTx(ctx, func(t *tx) error {
		plan, err := s.planReceiptRequests(t, in.PublicationID)
		switch {
		case err != nil:
			return err
		case plan.Refusal != "":
			return &NotWantedError{plan.Refusal}
		case plan.Digest() != in.Shown || len(plan.Asked) == 0:
			return ErrEdited
		}
		for _, a := range plan.Asked {
			d := roster.Delivery{Kind: roster.ReceiptRequest, AskedID: in.PublicationID, TeacherID: a.Teacher.ID, LINEID: a.Teacher.LINEUserID, DueAt: t.now, CreatedBy: in.AdminID}
			if _, err := s.makeDelivery(t, d); err != nil {
				return err
			}
		}
		n = len(plan.Asked)
		return nil
	})
	return n, wrap(err, "ask for confirmations of publication %d", in.PublicationID)
}

// ReceiptRequests lists the newest receipt request of a publication for each teacher who was sent one.
func (s *Store) ReceiptRequests(ctx context.Context, publicationID int64) ([]roster.Delivery, error) {
	all, err := list(ctx, s.read, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries
		WHERE id IN (SELECT max(id) FROM deliveries WHERE asked_id = ? GROUP BY teacher_id) ORDER BY id`, publicationID)
	return all, wrap(err, "requests to confirm publication %d", publicationID)
}

// confirmable says why nobody need confirm a publication: another one of its month is the newest, or the month is over. The code is empty when there is no reason.
func (s *Store) confirmable(t *tx, p roster.Publication) (roster.Code, error) {
	newest, err := newestPublication(t.ctx, t, p.GroupID, p.Month)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return "", fmt.Errorf("newest publication of %s: %w", p.Month, err)
	case newest.ID != p.ID:
		return roster.CodeSuperseded, nil
	case p.Month.Last().Before(roster.DateOf(t.now, s.loc)):
		return roster.CodeNoLongerNeeded, nil
	}
	return "", nil
}

// checkReceiptRequest is check for receipt requests.
func (s *Store) checkReceiptRequest(t *tx, d roster.Delivery) (roster.Code, error) {
	p, err := publicationAlone(t.ctx, t, d.AskedID)
	if err != nil {
		return "", fmt.Errorf("publication %d: %w", d.AskedID, err)
	}
	if code, err := s.confirmable(t, p); err != nil || code != "" {
		return code, err
	}
	var newer bool
	err = t.row(`SELECT EXISTS (SELECT 1 FROM deliveries WHERE asked_id = ? AND line_id = ? AND id > ? AND state <> 'canceled')`, p.ID, d.LINEID, d.ID).Scan(&newer)
	if err != nil {
		return "", fmt.Errorf("newer requests than delivery %d: %w", d.ID, err)
	}
	if newer {
		return roster.CodeSuperseded, nil
	}
	_, confirmed, err := t.receiptNow(p, d.TeacherID)
	if err != nil || confirmed {
		return roster.CodeNoLongerNeeded, err
	}
	v, err := teacher(t.ctx, t, d.TeacherID)
	if err != nil {
		return "", wrap(err, "teacher %d", d.TeacherID)
	}
	if !v.Active() {
		return roster.CodeTeacherInactive, nil
	}
	return linkCode(v, d.LINEID), nil
}

// receiptNow reads a teacher's receipt of a publication, and whether they confirmed what is so now, in this version or an
// earlier one.
func (t *tx) receiptNow(p roster.Publication, teacherID int64) (r roster.Receipt, confirmed bool, err error) {
	if r, err = receipt(t.ctx, t, p.ID, teacherID); err != nil {
		return r, false, err
	}
	own, err := ownPart(t.ctx, t, p.GroupID, p.Month, teacherID)
	if err != nil || !r.ConfirmedAt.IsZero() {
		return r, r.Confirmed(own), err
	}
	earlier, err := confirmation(t.ctx, t, p, p.Number-1, teacherID, own)
	return r, earlier != nil && len(earlier.Changes) == 0, err
}

// freezeReceiptRequest builds the message of a receipt request that was just checked.
func (s *Store) freezeReceiptRequest(t *tx, d *roster.Delivery) error {
	p, err := publicationAlone(t.ctx, t, d.AskedID)
	if err != nil {
		return fmt.Errorf("publication %d: %w", d.AskedID, err)
	}
	g, err := group(t.ctx, t, p.GroupID)
	if err != nil {
		return err
	}
	r, _, err := t.receiptNow(p, d.TeacherID)
	if err != nil {
		return err
	}
	d.Body, err = s.compose.ComposeReceiptRequest(roster.ReceiptRequestMessage{
		LINEID: d.LINEID, GroupName: g.Name, Month: p.Month, Number: p.Number, PublishedAt: p.PublishedAt, DocumentID: p.DocumentID, Stale: !r.ConfirmedAt.IsZero(),
	})
	return err
}
