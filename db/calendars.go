package db

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"shiftpost/db/roster"
)

// CreateCalendar makes the secret of a linked teacher's calendar address and returns it; only its hash is kept, so it
// cannot be told again. An earlier address ends. The error is ErrNotFound if the teacher is not active or not linked.
func (s *Store) CreateCalendar(ctx context.Context, teacherID int64, language string) (token string, err error) {
	token = rand.Text()
	err = s.inTx(ctx, func(t *tx) error {
		v, err := teacher(t.ctx, t, teacherID)
		if err != nil {
			return err
		}
		if !v.Active() || !v.Linked() {
			return ErrNotFound
		}
		_, err = t.exec(`INSERT INTO calendars (teacher_id, token_hash, line_user_id, language, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
			ON CONFLICT (teacher_id) DO UPDATE SET token_hash = ?2, line_user_id = ?3, language = ?4, created_at = ?5`,
			teacherID, hashToken(token), v.LINEUserID, language, at(t.now))
		return err
	})
	if err != nil {
		return "", wrap(err, "create calendar of teacher %d", teacherID)
	}
	return token, nil
}

// DeleteCalendar ends a teacher's calendar address, if there is one.
func (s *Store) DeleteCalendar(ctx context.Context, teacherID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		_, err := t.exec(`DELETE FROM calendars WHERE teacher_id = ?`, teacherID)
		return err
	})
	return wrap(err, "delete calendar of teacher %d", teacherID)
}

// calendarsInUse are those that count: of active teachers, made by the LINE user they are linked to.
const calendarsInUse = `calendars k JOIN teachers t ON t.id = k.teacher_id AND t.line_user_id = k.line_user_id AND t.archived_at IS NULL`

// Calendar reads what a secret address answers. The error is ErrNotFound if it is unknown, or ended.
func (s *Store) Calendar(ctx context.Context, token string) (roster.Calendar, error) {
	c, err := one(ctx, s.read, func(r scanner) (roster.Calendar, error) {
		var c roster.Calendar
		err := r.Scan(&c.Teacher.ID, &c.Language)
		return c, err
	}, `SELECT t.id, k.language FROM `+calendarsInUse+` WHERE k.token_hash = ?`, hashToken(token))
	if err != nil {
		return c, wrap(err, "calendar")
	}
	if c.Teacher, err = teacher(ctx, s.read, c.Teacher.ID); err != nil {
		return c, wrap(err, "teacher of a calendar")
	}
	from := roster.DateOf(s.Now().Add(-roster.CalendarPast), s.loc)
	c.Shifts, err = publishedShifts(ctx, s.read, c.Teacher.ID, from)
	return c, wrap(err, "calendar of teacher %d", c.Teacher.ID)
}

// hasCalendar reports whether a teacher has a calendar address that counts.
func hasCalendar(ctx context.Context, q querier, teacherID int64) (has bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+calendarsInUse+` WHERE k.teacher_id = ?)`, teacherID).Scan(&has)
	return has, wrap(err, "calendar of teacher %d", teacherID)
}

// PublishedShift reads a confirmed shift of a teacher in a month that has a publication. The error is ErrNotFound if it
// is not one.
func (s *Store) PublishedShift(ctx context.Context, teacherID, shiftID int64) (roster.CalendarShift, error) {
	x, err := s.Shift(ctx, shiftID)
	if err != nil {
		return roster.CalendarShift{}, err
	}
	all, err := publishedShifts(ctx, s.read, teacherID, x.Date)
	if err != nil {
		return roster.CalendarShift{}, wrap(err, "published shift %d", shiftID)
	}
	for _, p := range all {
		if p.ID == shiftID {
			return p, nil
		}
	}
	return roster.CalendarShift{}, wrap(ErrNotFound, "published shift %d", shiftID)
}

// publishedShifts lists a teacher's confirmed shifts from a day on, of months that have a publication, by start.
func publishedShifts(ctx context.Context, q querier, teacherID int64, from roster.Date) ([]roster.CalendarShift, error) {
	months, err := ownMonths(ctx, q, teacherID, from.MonthOf())
	if err != nil {
		return nil, err
	}
	published := map[int64]string{} // where, by shift
	for _, m := range months {
		for _, x := range m.Live.Shifts {
			published[x.ShiftID] = m.Live.ClassroomName(x.ClassroomID)
		}
	}
	classrooms, err := list(ctx, q, scanClassroom, `SELECT `+classroomColumns+` FROM classrooms`)
	if err != nil {
		return nil, err
	}
	edits := int64(0) // of all of them: a shift that moves to another classroom must not fall back
	renamedAt := map[int64]time.Time{}
	for _, c := range classrooms {
		edits += c.EditNumber
		renamedAt[c.ID] = c.UpdatedAt
	}
	all, err := list(ctx, q, scanShift, `SELECT `+shiftColumns+` FROM shifts WHERE teacher_id = ? AND state = 'confirmed' AND date >= ?
		ORDER BY date, start_minutes, id`, teacherID, from)
	if err != nil {
		return nil, err
	}
	var shown []roster.CalendarShift
	for _, x := range all {
		if classroom, ok := published[x.ID]; ok {
			c := roster.CalendarShift{Shift: x, Classroom: classroom, Revision: x.Version + edits, RevisedAt: x.ChangedAt}
			if at := renamedAt[x.ClassroomID]; at.After(c.RevisedAt) {
				c.RevisedAt = at
			}
			shown = append(shown, c)
		}
	}
	return shown, nil
}

// hashToken is how a secret of an address is kept.
func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
