package db

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"shiftpost/db/roster"
)

// standing reads what is so of a shift and what a teacher was told about it, as the LINE user they are linked to now.
func (s *Store) standing(t *tx, shiftID int64, teacher roster.Teacher) (roster.Standing, error) {
	var st roster.Standing
	var err error
	if st.Shift, err = one(t.ctx, t, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE id = ?`, shiftID); err != nil {
		return st, wrap(err, "shift %d", shiftID)
	}
	st.Theirs = st.Shift.State == roster.ShiftConfirmed && st.Shift.TeacherID == teacher.ID
	if teacher.Linked() {
		if st.Told, err = t.told(shiftID, teacher.LINEUserID); err != nil {
			return st, err
		}
	}
	for _, x := range st.Told {
		if x.Canceled || slices.Contains(st.Works, x.Work) {
			continue
		}
		var same bool
		err := t.row(`SELECT EXISTS (SELECT 1 FROM shifts WHERE teacher_id = ? AND state = 'confirmed' AND classroom_id = ? AND date = ? AND start_minutes = ? AND end_minutes = ?)`,
			teacher.ID, x.Work.ClassroomID, x.Work.Date, x.Work.Times.Start, x.Work.Times.End).Scan(&same)
		if err != nil {
			return st, fmt.Errorf("shifts like the told one of shift %d: %w", shiftID, err)
		}
		if same {
			st.Works = append(st.Works, x.Work)
		}
	}
	return st, nil
}

// weigh reads what only the choice of a notice asks for: when a reminder is due, and what was done already. The check of
// one that is there can do without.
func (s *Store) weigh(t *tx, st *roster.Standing, teacher roster.Teacher) (err error) {
	err = t.row(`SELECT g.lead_minutes FROM groups g JOIN classrooms c ON c.group_id = g.id WHERE c.id = ?`, st.Shift.ClassroomID).Scan(&st.LeadMinutes)
	if err != nil {
		return fmt.Errorf("lead of shift %d: %w", st.Shift.ID, err)
	}
	if st.Theirs && teacher.Linked() && !st.ReminderFrom(s.loc).After(t.now) {
		if st.Reminded, err = s.reminded(t, *st, teacher.LINEUserID); err != nil {
			return err
		}
	}
	if st.Untrue() {
		err = t.row(`SELECT EXISTS (SELECT 1 FROM deliveries WHERE kind = ? AND shift_id = ? AND shift_version = ? AND line_id = ? AND (state IN ('sent', 'failed') OR code = 'CANCELED_BY_ADMIN'))`,
			st.Correcting(), st.Shift.ID, st.Shift.Version, teacher.LINEUserID).Scan(&st.Answered)
	}
	return wrap(err, "what was answered of shift %d", st.Shift.ID)
}

// told reads what a LINE user was told about a shift and still counts.
func (t *tx) told(shiftID int64, lineID string) ([]roster.Told, error) {
	rows, err := list(t.ctx, t, func(r scanner) (x roster.Told, err error) {
		err = r.Scan(&x.DeliveryID, &x.Canceled, &x.Work.ClassroomID, &x.Work.Date, &x.Work.Times.Start, &x.Work.Times.End, &x.Certainty)
		return x, err
	}, `SELECT delivery_id, canceled, coalesce(classroom_id, 0), coalesce(date, '2000-01-01'), coalesce(start_minutes, 0), coalesce(end_minutes, 0), certainty
		FROM told WHERE line_id = ? AND shift_id = ? AND certainty <> 'void' ORDER BY delivery_id`, lineID, shiftID)
	return rows, wrap(err, "what was told of shift %d", shiftID)
}

// reminded says Standing.Reminded. A notice that was tried counts for every shift of the classroom, date and times it
// told, also if it was about another shift or version; but not when it failed, since then nobody can retry it.
func (s *Store) reminded(t *tx, st roster.Standing, lineID string) (bool, error) {
	x := st.Shift
	const since = `d.kind IN ('shift_reminder', 'shift_correction') AND d.created_at >= ?2
		AND NOT EXISTS (SELECT 1 FROM deliveries c WHERE c.shift_id = d.shift_id AND c.line_id = d.line_id AND c.kind = 'shift_cancellation' AND c.id > d.id
			AND (c.state = 'sent' OR EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = c.id AND (a.outcome IS NULL OR a.outcome IN ('unknown', 'interrupted')))))`
	var yes bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM deliveries d WHERE d.shift_id = ?3 AND d.line_id = ?1 AND d.shift_version = ?4
			AND (d.state <> 'canceled' OR d.code = 'CANCELED_BY_ADMIN') AND `+since+`)
		OR EXISTS (SELECT 1 FROM told w JOIN deliveries d ON d.id = w.delivery_id
			WHERE w.line_id = ?1 AND w.certainty <> 'void' AND w.canceled = 0 AND w.classroom_id = ?5 AND w.date = ?6 AND w.start_minutes = ?7 AND w.end_minutes = ?8
			AND (d.state IN ('pending', 'queued', 'processing', 'sent') OR d.code = 'CANCELED_BY_ADMIN') AND `+since+`)`,
		lineID, at(st.ReminderFrom(s.loc)), x.ID, x.Version, x.ClassroomID, x.Date, x.Times.Start, x.Times.End).Scan(&yes)
	return yes, wrap(err, "reminders of shift %d", x.ID)
}

// settle makes, re-aims or calls off the one live notice of a shift to a teacher, so that it fits what they were told
// and what is so. FirstEdit is when the edit that is the cause began, from which a correction waits the undo window;
// zero for any other cause. It reports whether it changed anything.
func (s *Store) settle(t *tx, shiftID int64, teacher roster.Teacher, firstEdit time.Time) (bool, error) {
	st, err := s.standing(t, shiftID, teacher)
	if err != nil {
		return false, err
	}
	if err := s.weigh(t, &st, teacher); err != nil {
		return false, err
	}
	kind, deadline := st.Need(t.now, s.loc)
	cannot := roster.Code("")
	if kind != "" {
		cannot = roster.CannotTell(teacher, kind)
	}
	changed, err := s.prolong(t, st, teacher.LINEUserID)
	if err != nil {
		return false, err
	}
	live, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE shift_id = ? AND line_id = ? AND state IN ('pending', 'queued', 'processing')`, shiftID, teacher.LINEUserID)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return false, fmt.Errorf("live notice of shift %d: %w", shiftID, err)
	case live.State == roster.Processing:
		// The comparison runs again when it leaves, and counts the undo window from here.
		if firstEdit.IsZero() {
			return changed, nil
		}
		return changed, t.event(live.ID, EventEdited, "", 0)
	default:
		if corrects(kind) && cannot == "" && corrects(live.Kind) && live.FirstTryAt.IsZero() && live.DeadlineAt.After(t.now) {
			return s.reaim(t, live, kind, st.Shift.Version, deadline)
		}
		code, err := s.check(t, live)
		if err != nil || code == "" {
			return changed, err
		}
		if corrects(live.Kind) && live.FirstTryAt.IsZero() && !st.Untrue() {
			code = roster.CodeNoLongerNeeded // it would have been re-aimed: the edit was undone
		}
		if err := t.cancel(live, code, 0); err != nil {
			return false, err
		}
		// What was called off counts no more for what is needed.
		_, err = s.settle(t, shiftID, teacher, firstEdit)
		return true, err
	}
	switch {
	case kind == "":
		return changed, nil
	case cannot != "":
		noted, err := t.noteUntold(kind, st.Shift, teacher, deadline, cannot)
		return changed || noted, err
	case kind == roster.ShiftReminder:
		// One that was made before the window was moved.
		stands, err := t.stands(kind, shiftID, st.Shift.Version, teacher.LINEUserID)
		if err != nil || stands {
			return changed, err
		}
	}
	d := roster.Delivery{Kind: kind, TeacherID: teacher.ID, ShiftID: shiftID, ShiftVersion: st.Shift.Version, LINEID: teacher.LINEUserID, DueAt: t.now, DeadlineAt: deadline}
	if corrects(kind) && !firstEdit.IsZero() && deadline.Sub(t.now) >= roster.UndoSkipped {
		set, err := s.settings(t.ctx, t)
		if err != nil {
			return false, fmt.Errorf("read undo window: %w", err)
		}
		if wait := firstEdit.Add(set.UndoWindow); wait.After(t.now) {
			d.DueAt = wait
		}
	}
	_, err = s.makeDelivery(t, d)
	return true, err
}

func corrects(kind roster.DeliveryKind) bool {
	return kind == roster.ShiftCorrection || kind == roster.ShiftCancellation
}

// reaim turns a correction or cancellation that was not tried yet to what must be said now. Its due instant stays,
// unless the deadline is now too near for the undo window.
func (s *Store) reaim(t *tx, d roster.Delivery, kind roster.DeliveryKind, version int64, deadline time.Time) (bool, error) {
	if d.Kind == kind && d.ShiftVersion == version && d.DeadlineAt.Equal(deadline) {
		return false, nil
	}
	err := t.execOne(errMoved, `UPDATE deliveries SET kind = ?, shift_version = ?, deadline_at = ?, updated_at = ? WHERE id = ? AND state IN ('pending', 'queued') AND first_try_at IS NULL`,
		kind, version, at(deadline), at(t.now), d.ID)
	if err != nil {
		return false, fmt.Errorf("re-aim delivery %d: %w", d.ID, err)
	}
	if !d.DueAt.After(t.now) || deadline.Sub(t.now) >= roster.UndoSkipped {
		return true, nil
	}
	if _, err := t.exec(`UPDATE deliveries SET due_at = ?, next_attempt_at = ? WHERE id = ?`, at(t.now), at(t.now), d.ID); err != nil {
		return false, fmt.Errorf("hurry delivery %d: %w", d.ID, err)
	}
	t.queued = true
	_, err = t.exec(`UPDATE jobs SET run_at = ?, updated_at = ? WHERE kind = ? AND subject_id = ? AND state = 'ready'`, at(t.now), at(t.now), jobKind(kind), d.ID)
	return true, wrap(err, "hurry delivery %d", d.ID)
}

// prolong gives a failed correction or cancellation whose deadline has passed, while another start it is about is still
// ahead, that one for its deadline: it stands for its version, so that no other is made, and a person can still retry it.
func (s *Store) prolong(t *tx, st roster.Standing, lineID string) (bool, error) {
	deadline := st.Deadline(t.now, s.loc)
	if !st.Untrue() || !st.Answered || deadline.IsZero() {
		return false, nil
	}
	res, err := t.exec(`UPDATE deliveries SET deadline_at = ?, updated_at = ? WHERE kind = ? AND shift_id = ? AND shift_version = ? AND line_id = ? AND state = 'failed' AND deadline_at <= ?`,
		at(deadline), at(t.now), st.Correcting(), st.Shift.ID, st.Shift.Version, lineID, at(t.now))
	if err != nil {
		return false, fmt.Errorf("prolong the failed notice of shift %d: %w", st.Shift.ID, err)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// stands reports whether a notice of that kind stands for a shift's version and a person.
func (t *tx) stands(kind roster.DeliveryKind, shiftID, version int64, lineID string) (bool, error) {
	var yes bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM deliveries WHERE kind = ? AND shift_id = ? AND shift_version = ? AND line_id = ? AND (state <> 'canceled' OR code = 'CANCELED_BY_ADMIN'))`,
		kind, shiftID, version, lineID).Scan(&yes)
	return yes, wrap(err, "standing notices of shift %d", shiftID)
}

// noteUntold keeps one canceled row for a notice that cannot be sent, per shift, kind and reason. It is about the shift's
// present version and counts until the present deadline; only what came too late is history, and a row for each version.
func (t *tx) noteUntold(kind roster.DeliveryKind, x roster.Shift, teacher roster.Teacher, deadline time.Time, code roster.Code) (bool, error) {
	const same = `shift_id = ?4 AND teacher_id = ?3 AND kind = ?1 AND state = 'canceled' AND code = ?2`
	args := []any{kind, code, teacher.ID, x.ID, x.Version, teacher.LINEUserID, at(t.now), at(deadline)}
	changed := func(query string) (bool, error) {
		res, err := t.exec(query, args...)
		if err != nil {
			return false, fmt.Errorf("note what shift %d's teacher cannot be told: %w", x.ID, err)
		}
		n, err := res.RowsAffected()
		return n > 0, err
	}
	if code != roster.CodeShiftStarted {
		moved, err := changed(`UPDATE deliveries SET shift_version = ?5, deadline_at = ?8, updated_at = ?7, line_id = coalesce(nullif(?6, ''), line_id)
			WHERE ` + same + ` AND first_try_at IS NULL AND (shift_version <> ?5 OR deadline_at <> ?8)`)
		if err != nil || moved {
			return moved, err
		}
	}
	return changed(`INSERT INTO deliveries (kind, state, code, retry_key, teacher_id, shift_id, shift_version, line_id, due_at, deadline_at, created_at, updated_at, finished_at)
		SELECT ?1, 'canceled', ?2, '', ?3, ?4, ?5, ?6, ?7, ?8, ?7, ?7, ?7
		WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE ` + same + ` AND (shift_version = ?5 OR ?2 <> 'SHIFT_STARTED' AND first_try_at IS NULL))`)
}

// settleEdit compares after a shift was edited: for whom it was, for whom it is, for everybody who was told about it,
// and for told shifts of theirs that looked or look like it. A new shift has no before.
func (s *Store) settleEdit(t *tx, before, after roster.Shift) error {
	pairs := []pair{{after.ID, after.TeacherID}}
	if before.ID != 0 {
		pairs = append(pairs, pair{after.ID, before.TeacherID})
	}
	told, err := list(t.ctx, t, scanPair, `SELECT x.shift_id, t.id FROM told x JOIN teachers t ON t.line_user_id = x.line_id AND t.line_user_id <> '' WHERE x.shift_id = ?1 AND x.certainty <> 'void'
		UNION SELECT x.shift_id, t.id FROM told x JOIN teachers t ON t.line_user_id = x.line_id AND t.line_user_id <> ''
		WHERE t.id IN (?2, ?3) AND x.certainty <> 'void' AND x.date IN (?4, ?5)`,
		after.ID, ref(before.TeacherID), after.TeacherID, cmp.Or(before.Date, after.Date), after.Date)
	if err != nil {
		return fmt.Errorf("who was told about shift %d: %w", after.ID, err)
	}
	pairs = append(pairs, told...)
	for i, p := range pairs {
		if slices.Contains(pairs[:i], p) {
			continue
		}
		if _, err := s.settlePair(t, p, t.now); err != nil {
			return err
		}
	}
	return nil
}

// pair is a shift and a teacher who may have to be told about it.
type pair struct{ shiftID, teacherID int64 }

func scanPair(r scanner) (p pair, err error) {
	err = r.Scan(&p.shiftID, &p.teacherID)
	return p, err
}

func (s *Store) settlePair(t *tx, p pair, firstEdit time.Time) (bool, error) {
	v, err := teacher(t.ctx, t, p.teacherID)
	if err != nil {
		return false, wrap(err, "teacher %d", p.teacherID)
	}
	return s.settle(t, p.shiftID, v, firstEdit)
}

// settlePerson compares a shift, after a notice about it to a LINE user was closed or ended, with what they were told
// about it; and their shifts that look like what it told, which it may have stood for. Nobody is compared when no
// teacher is linked to them now.
func (s *Store) settlePerson(t *tx, shiftID int64, lineID string) error {
	v, err := one(t.ctx, t, scanTeacher, `SELECT `+teacherColumns+` FROM teachers WHERE line_user_id = ? AND line_user_id <> ''`, lineID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("teacher of a LINE user: %w", err)
	}
	firstEdit, err := s.editedWhileSending(t, shiftID, lineID)
	if err != nil {
		return err
	}
	if _, err := s.settle(t, shiftID, v, firstEdit); err != nil {
		return err
	}
	alike, err := list(t.ctx, t, scanPair, `SELECT DISTINCT o.id, o.teacher_id FROM told w JOIN shifts o ON o.teacher_id = ?3 AND o.state = 'confirmed'
			AND o.classroom_id = w.classroom_id AND o.date = w.date AND o.start_minutes = w.start_minutes AND o.end_minutes = w.end_minutes
		WHERE w.shift_id = ?1 AND w.line_id = ?2 AND o.id <> ?1`, shiftID, lineID, v.ID)
	if err != nil {
		return fmt.Errorf("shifts that look like shift %d: %w", shiftID, err)
	}
	for _, p := range alike {
		if _, err := s.settle(t, p.shiftID, v, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// editedWhileSending returns the first edit of a shift within the last undo window that came while a notice about it was
// being sent to a LINE user; zero if there was none.
func (s *Store) editedWhileSending(t *tx, shiftID int64, lineID string) (time.Time, error) {
	set, err := s.settings(t.ctx, t)
	if err != nil {
		return time.Time{}, fmt.Errorf("read undo window: %w", err)
	}
	var first time.Time
	err = t.row(`SELECT min(e.happened_at) FROM deliveries d JOIN delivery_events e ON e.delivery_id = d.id
		WHERE d.shift_id = ? AND d.line_id = ? AND e.event = ? AND e.happened_at > ?`, shiftID, lineID, EventEdited, at(t.now.Add(-set.UndoWindow))).Scan(scanInstant(&first))
	return first, wrap(err, "edits of shift %d", shiftID)
}

// settleTeacher compares all that a teacher was told or is to be reminded of, after they were linked, switched on or
// made active.
func (s *Store) settleTeacher(t *tx, teacherID int64) error {
	v, err := teacher(t.ctx, t, teacherID)
	if err != nil {
		return wrap(err, "teacher %d", teacherID)
	}
	from := roster.DateOf(t.now, s.loc).AddDays(-2)
	shifts, err := list(t.ctx, t, func(r scanner) (x int64, err error) {
		err = r.Scan(&x)
		return x, err
	}, `SELECT id FROM shifts WHERE teacher_id = ?1 AND state = 'confirmed' AND date BETWEEN ?3 AND ?4
		UNION SELECT x.shift_id FROM told x JOIN shifts s ON s.id = x.shift_id WHERE x.line_id = ?2 AND ?2 <> '' AND x.certainty <> 'void' AND (x.date >= ?3 OR s.date >= ?3)`,
		v.ID, v.LINEUserID, from, from.AddDays(5))
	if err != nil {
		return fmt.Errorf("shifts of teacher %d: %w", teacherID, err)
	}
	for _, shiftID := range shifts {
		if _, err := s.settle(t, shiftID, v, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// cancelNoticesTo calls off the waiting notices to a LINE user who is no longer linked to that teacher.
func (s *Store) cancelNoticesTo(t *tx, lineID string, code roster.Code) error {
	waiting, err := list(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE line_id = ? AND teacher_id IS NOT NULL AND state IN ('pending', 'queued', 'processing') AND state <> 'processing'`, lineID)
	if err != nil {
		return fmt.Errorf("waiting notices: %w", err)
	}
	for _, d := range waiting {
		if err := t.cancel(d, code, 0); err != nil {
			return err
		}
	}
	return nil
}

// checkNotice is check for the kinds that are about a shift. It also returns what it went by, for the freeze.
func (s *Store) checkNotice(t *tx, d roster.Delivery) (roster.Code, roster.Standing, error) {
	v, err := teacher(t.ctx, t, d.TeacherID)
	if err != nil {
		return "", roster.Standing{}, wrap(err, "teacher %d", d.TeacherID)
	}
	// What was told counts for the LINE user the notice is meant for, whoever is linked to them.
	as := v
	as.LINEUserID = d.LINEID
	st, err := s.standing(t, d.ShiftID, as)
	if err != nil {
		return "", st, err
	}
	return s.noticeCode(t, d, v, st), st, nil
}

// noticeCode says why a notice is not wanted, or nothing.
func (s *Store) noticeCode(t *tx, d roster.Delivery, v roster.Teacher, st roster.Standing) roster.Code {
	late := !d.DeadlineAt.After(t.now)
	if d.Kind == roster.ShiftCancellation {
		switch {
		case st.Theirs || !st.Untrue():
			return roster.CodeNoLongerNeeded
		case late:
			return roster.CodeShiftStarted
		}
		return linkCode(v, d.LINEID)
	}
	switch {
	case st.Shift.State == roster.ShiftDeleted:
		return roster.CodeShiftDeleted
	case st.Shift.State != roster.ShiftConfirmed:
		return roster.CodeShiftNotConfirmed
	case st.Shift.Version != d.ShiftVersion:
		return roster.CodeShiftChanged
	case d.Kind == roster.ShiftCorrection && !st.Untrue():
		return roster.CodeNoLongerNeeded
	case late:
		return roster.CodeShiftStarted
	case !v.Active():
		return roster.CodeTeacherInactive
	}
	return linkCode(v, d.LINEID)
}

func linkCode(v roster.Teacher, lineID string) roster.Code {
	switch {
	case !v.Linked():
		return roster.CodeTeacherUnlinked
	case v.LINEUserID != lineID:
		return roster.CodeTeacherRelinked
	case !v.NoticesOn:
		return roster.CodeLINEDisabled
	}
	return ""
}

// freezeNotice builds the message of a notice that was just checked and notes what it tells.
func (s *Store) freezeNotice(t *tx, d *roster.Delivery, st roster.Standing) error {
	tells := roster.Told{DeliveryID: d.ID, Canceled: d.Kind == roster.ShiftCancellation, Work: st.Shift.Work(), Certainty: roster.Maybe}
	taken, err := s.takeOver(t, d, tells)
	if err != nil {
		return err
	}
	if !taken {
		m, err := s.noticeMessage(t, *d, st)
		if err != nil {
			return err
		}
		if d.Body, err = s.compose.ComposeNotice(m); err != nil {
			return err
		}
	}
	var classroom, date, start, end any
	if !tells.Canceled {
		classroom, date, start, end = tells.Work.ClassroomID, tells.Work.Date, tells.Work.Times.Start, tells.Work.Times.End
	}
	_, err = t.exec(`INSERT INTO told (delivery_id, line_id, shift_id, canceled, classroom_id, date, start_minutes, end_minutes, certainty, told_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'maybe', ?)`, d.ID, d.LINEID, d.ShiftID, tells.Canceled, classroom, date, start, end, at(t.now))
	return wrap(err, "note what delivery %d tells", d.ID)
}

// maxGone bounds how many shifts a cancellation names: LINE refuses messages that are too long.
const maxGone = 10

// noticeMessage puts a notice into names. Before is said only when it is certain what the person was told.
func (s *Store) noticeMessage(t *tx, d roster.Delivery, st roster.Standing) (roster.NoticeMessage, error) {
	m := roster.NoticeMessage{Kind: d.Kind, LINEID: d.LINEID}
	say := func(w roster.Work) (*roster.ToldShift, error) {
		c, err := classroom(t.ctx, t, w.ClassroomID)
		return &roster.ToldShift{Classroom: c.Name, Date: w.Date, Times: w.Times}, wrap(err, "classroom %d", w.ClassroomID)
	}
	var err error
	if d.Kind != roster.ShiftCancellation {
		if m.Now, err = say(st.Shift.Work()); err != nil {
			return m, err
		}
	}
	certain := !slices.ContainsFunc(st.Told, func(x roster.Told) bool { return x.Certainty != roster.Sure })
	var gone []roster.Work
	for _, x := range slices.Backward(st.Told) {
		if st.True(x) || x.Canceled || slices.Contains(gone, x.Work) || len(gone) == maxGone {
			continue
		}
		gone = append(gone, x.Work)
	}
	for _, w := range slices.Backward(gone) {
		x, err := say(w)
		if err != nil {
			return m, err
		}
		switch {
		case certain:
			m.Before = x
		case d.Kind == roster.ShiftCancellation:
			m.Gone = append(m.Gone, *x)
		}
	}
	err = t.row(`SELECT coalesce((SELECT p.document_id FROM publications p JOIN classrooms c ON c.group_id = p.group_id
		WHERE c.id = ? AND p.month = ? ORDER BY p.number DESC LIMIT 1), '')`, st.Shift.ClassroomID, st.Shift.Date.MonthOf()).Scan(&m.DocumentID)
	return m, wrap(err, "newest publication for shift %d", d.ShiftID)
}

// takeOver lets a notice continue one of its kind that tells the same, has ended and may have arrived, if nothing else
// about the shift was tried to that person since and the key still lives: with its key and bytes LINE answers 409 if it
// did. A shift that was deleted and entered anew is told by the same message too.
func (s *Store) takeOver(t *tx, d *roster.Delivery, tells roster.Told) (bool, error) {
	w := tells.Work
	before, err := one(t.ctx, t, scanDelivery, `SELECT `+qualify("d", deliveryColumns)+` FROM told w JOIN deliveries d ON d.id = w.delivery_id
		WHERE w.line_id = ?1 AND w.certainty <> 'void' AND w.certainty = 'maybe' AND w.canceled = ?2
		AND CASE WHEN ?2 THEN w.shift_id = ?3 ELSE w.classroom_id = ?4 AND w.date = ?5 AND w.start_minutes = ?6 AND w.end_minutes = ?7 END
		AND d.id <> ?8 AND d.kind = ?9 AND d.state IN ('canceled', 'failed') AND `+mayHaveArrived+`
		AND NOT EXISTS (SELECT 1 FROM attempts a JOIN deliveries o ON o.id = a.delivery_id
			WHERE o.line_id = ?1 AND o.shift_id IN (?3, d.shift_id) AND o.id <> d.id AND a.retry_key <> d.retry_key AND a.id > (SELECT max(id) FROM attempts WHERE delivery_id = d.id))
		ORDER BY d.id DESC LIMIT 1`, d.LINEID, tells.Canceled, d.ShiftID, w.ClassroomID, w.Date, w.Times.Start, w.Times.End, d.ID, d.Kind)
	if errors.Is(err, ErrNotFound) || (err == nil && roster.KeyExpired(t.now, before.KeyFirstTryAt, s.opts.RetryKeyTTL)) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("earlier notice of shift %d: %w", d.ShiftID, err)
	}
	if d.Body, err = body(t.ctx, t, before.ID); err != nil {
		return false, err
	}
	d.RetryKey, d.FirstTryAt, d.KeyFirstTryAt = before.RetryKey, before.FirstTryAt, before.KeyFirstTryAt
	return true, nil
}

// tell writes what the end of a try means for what its person was told: all else about the shift counts no more once
// LINE accepted it, and nothing of it once it is certain that it was refused.
func (t *tx) tell(d roster.Delivery, outcome roster.Outcome) error {
	switch outcome {
	case roster.Accepted:
		if _, err := t.exec(`UPDATE told SET certainty = CASE WHEN delivery_id = ?1 THEN 'sure' ELSE 'void' END, told_at = CASE WHEN delivery_id = ?1 THEN ?4 ELSE told_at END
			WHERE line_id = ?2 AND shift_id = ?3 AND (certainty <> 'void' OR delivery_id = ?1)`, d.ID, d.LINEID, d.ShiftID, at(t.now)); err != nil {
			return fmt.Errorf("note that delivery %d was told: %w", d.ID, err)
		}
	case roster.Refused:
		maybe, err := t.mayHaveArrived(d.ID)
		if err != nil || maybe {
			return err
		}
		if _, err := t.exec(`UPDATE told SET certainty = 'void' WHERE delivery_id = ?`, d.ID); err != nil {
			return fmt.Errorf("note that delivery %d was not told: %w", d.ID, err)
		}
	}
	return nil
}

// toldAsItIs reports whether a reminder that LINE accepted leaves nothing to compare: the shift is as it was when its
// message was built, its teacher is linked to the same LINE user, and that is all they were ever told about it. It is so
// after nearly every reminder, and spares the whole comparison.
func (t *tx) toldAsItIs(d roster.Delivery) (bool, error) {
	var yes bool
	err := t.row(`SELECT EXISTS (SELECT 1 FROM shifts s JOIN teachers v ON v.id = s.teacher_id WHERE s.id = ?1 AND s.version = ?2 AND v.id = ?3 AND v.line_user_id = ?4)
		AND NOT EXISTS (SELECT 1 FROM told WHERE shift_id = ?1 AND line_id = ?4 AND delivery_id <> ?5)`,
		d.ShiftID, d.ShiftVersion, d.TeacherID, d.LINEID, d.ID).Scan(&yes)
	return yes, wrap(err, "compare reminder %d with its shift", d.ID)
}

// reopenTold lets a notice that was refused before, and is tried again, count as maybe told.
func (t *tx) reopenTold(d roster.Delivery) error {
	_, err := t.exec(`UPDATE told SET certainty = 'maybe' WHERE delivery_id = ? AND certainty = 'void'`, d.ID)
	return wrap(err, "reopen what delivery %d tells", d.ID)
}
