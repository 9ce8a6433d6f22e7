package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shiftpost/db/roster"
)

// What the home page looks at.
const (
	// missedShown is how long after the end of its shift a notice that came too late stays on the page.
	missedShown = 24 * time.Hour
	// unreachableDays is how many days from today on teachers who cannot be told are looked for.
	unreachableDays = 7
	// draftDays is how many days from today on a draft is close.
	draftDays = 3
)

// Home reads what the home page shows of the whole school and of one group, at one moment. It counts no finished rows.
// The error is ErrNotFound if there is no such group.
func (s *Store) Home(ctx context.Context, groupID int64) (roster.Home, error) {
	var h roster.Home
	err := s.inReadTx(ctx, func(t *tx) (err error) {
		h, err = s.home(t, groupID)
		return err
	})
	return h, wrap(err, "home of group %d", groupID)
}

func (s *Store) home(t *tx, groupID int64) (roster.Home, error) {
	h := roster.Home{At: t.now}
	today := roster.DateOf(t.now, s.loc)
	var err error
	if h.Group, err = group(t.ctx, t, groupID); err != nil {
		return h, err
	}
	groups, err := list(t.ctx, t, scanGroup, `SELECT `+groupColumns+` FROM groups WHERE archived_at IS NULL ORDER BY id`)
	if err != nil {
		return h, fmt.Errorf("groups: %w", err)
	}
	h.Groups = len(groups)
	if err := t.row(`SELECT EXISTS (SELECT 1 FROM deliveries WHERE state IN ('pending', 'queued', 'processing'))`).Scan(&h.Live); err != nil {
		return h, fmt.Errorf("live deliveries: %w", err)
	}
	if h.Concerns, err = s.concerns(t, groups, today); err != nil {
		return h, err
	}
	for _, on := range []roster.Date{today, today.AddDays(1)} {
		day, err := s.homeDay(t, groupID, on)
		if err != nil {
			return h, fmt.Errorf("shifts of %s: %w", on, err)
		}
		h.Days = append(h.Days, day)
	}
	for _, m := range []roster.Month{today.MonthOf(), today.MonthOf().Add(1)} {
		stand, err := s.monthStand(t, h.Group, m)
		if err != nil {
			return h, err
		}
		h.Months = append(h.Months, stand)
	}
	if h.Quota, err = s.quota(t); err != nil {
		return h, err
	}
	err = t.row(`SELECT count(*), coalesce(sum(t.line_user_id <> ''), 0) FROM teachers t JOIN classrooms c ON c.id = t.classroom_id
		WHERE c.group_id = ? AND t.archived_at IS NULL`, groupID).Scan(&h.Linking.Teachers, &h.Linking.Linked)
	if err != nil {
		return h, fmt.Errorf("linked teachers: %w", err)
	}
	h.Linking.Sweeps, err = sweepRuns(t.ctx, t)
	return h, wrap(err, "sweeps")
}

// concerns looks for what somebody must act on in the whole school.
func (s *Store) concerns(t *tx, groups []roster.Group, today roster.Date) (c roster.Concerns, err error) {
	if c.Holds, err = holds(t.ctx, t); err != nil {
		return c, fmt.Errorf("holds: %w", err)
	}
	if c.Missed, err = s.missedNotices(t); err != nil {
		return c, fmt.Errorf("notices that came too late: %w", err)
	}
	if c.Running, err = s.runningChanges(t, today, c.Missed); err != nil {
		return c, fmt.Errorf("changes of shifts that run: %w", err)
	}
	if c.Untold, err = s.untoldChanges(t); err != nil {
		return c, fmt.Errorf("changes that cannot be told: %w", err)
	}
	if c.Failed, err = s.failedDeliveries(t, today); err != nil {
		return c, fmt.Errorf("failed deliveries: %w", err)
	}
	// The index on live deliveries is found by its own condition only.
	c.Pending, err = list(t.ctx, t, scanDeliveryConcern, deliveryConcerns+` WHERE d.state IN ('pending', 'queued', 'processing') AND d.state = 'pending' ORDER BY coalesce(d.deadline_at, d.created_at), d.id`)
	if err != nil {
		return c, fmt.Errorf("pending deliveries: %w", err)
	}
	for _, g := range groups {
		if g.LINEGroupID != "" && !g.Linked() {
			c.Left = append(c.Left, g)
		}
		months, err := s.publishedMonths(t, g, today.MonthOf())
		if err != nil {
			return c, err
		}
		c.Months = append(c.Months, months...)
		if err := s.draftsSoon(t, g, today, &c); err != nil {
			return c, err
		}
	}
	c.Unreachable, err = s.unreachable(t, today)
	return c, err
}

// deliveryConcerns reads deliveries with the names of what they are about, for scanDeliveryConcern.
var deliveryConcerns = `SELECT ` + qualify("d", deliveryColumns) + `, ` + mayHaveArrived + `, coalesce(v.name, ''), coalesce(c.name, ''), coalesce(s.date, '2000-01-01'),
	coalesce(s.start_minutes, 0), coalesce(s.end_minutes, 0), coalesce(g.name, ''), coalesce(p.month, '2020-01'), coalesce(p.number, 0)
	FROM deliveries d LEFT JOIN teachers v ON v.id = d.teacher_id LEFT JOIN shifts s ON s.id = d.shift_id LEFT JOIN classrooms c ON c.id = s.classroom_id
	LEFT JOIN publications p ON p.id = coalesce(d.publication_id, d.asked_id) LEFT JOIN groups g ON g.id = p.group_id`

func scanDeliveryConcern(r scanner) (c roster.DeliveryConcern, err error) {
	err = r.Scan(append(deliveryTargets(&c.Delivery), &c.MayHaveArrived, &c.Teacher, &c.Shift.Classroom, &c.Shift.Date, &c.Shift.Times.Start, &c.Shift.Times.End,
		&c.Group, &c.Month, &c.Number)...)
	return c, err
}

// failedDeliveries lists the failed deliveries that a retry could still send: those of UnfinishedDeliveries. Notices come
// first, by their deadline.
func (s *Store) failedDeliveries(t *tx, today roster.Date) ([]roster.DeliveryConcern, error) {
	failed, err := list(t.ctx, t, scanDeliveryConcern, deliveryConcerns+` WHERE d.state = 'failed' AND (d.deadline_at > ? OR p.month >= ?)
		ORDER BY d.deadline_at IS NULL, d.deadline_at, d.id`, at(t.now), today.MonthOf())
	if err != nil {
		return nil, err
	}
	var wanted []roster.DeliveryConcern
	for _, f := range failed {
		code, err := s.check(t, f.Delivery)
		if err != nil {
			return nil, err
		}
		if code == "" {
			wanted = append(wanted, f)
		}
	}
	return wanted, nil
}

// phoned is true for a notice d of the shift s that an admin told by phone since the shift last changed.
const phoned = `EXISTS (SELECT 1 FROM delivery_events e WHERE e.delivery_id = d.id AND e.event = '` + EventPhoned + `' AND e.happened_at >= s.changed_at)`

// noticeConcern is a canceled notice with the people and the shift it is about.
type noticeConcern struct {
	roster.NoticeConcern
	shift   roster.Shift
	teacher roster.Teacher
}

// canceledNotices lists canceled notices about one shift with a deadline after an instant that a person was neither
// phoned about nor sent a later one for.
func (s *Store) canceledNotices(t *tx, after time.Time, where string) ([]noticeConcern, error) {
	return list(t.ctx, t, func(r scanner) (n noticeConcern, err error) {
		x, v := &n.shift, &n.teacher
		err = r.Scan(append(deliveryTargets(&n.Delivery), &n.MayHaveArrived, &x.ID, &x.TeacherID, &x.ClassroomID, &x.Date, &x.Times.Start, &x.Times.End, &x.State,
			&v.ID, &v.Name, &v.LINEUserID, &v.NoticesOn, scanInstant(&v.ArchivedAt))...)
		n.Teacher = v.Name
		return n, err
	}, `SELECT `+qualify("d", deliveryColumns)+`, `+mayHaveArrived+`, s.id, s.teacher_id, s.classroom_id, s.date, s.start_minutes, s.end_minutes, s.state,
		v.id, v.name, v.line_user_id, v.notices_on, v.archived_at
		FROM deliveries d JOIN shifts s ON s.id = d.shift_id JOIN teachers v ON v.id = d.teacher_id
		WHERE d.state = 'canceled' AND d.deadline_at > ? AND `+where+` AND NOT `+phoned+`
		AND NOT EXISTS (SELECT 1 FROM deliveries n WHERE n.shift_id = d.shift_id AND +n.teacher_id = d.teacher_id AND n.id > d.id AND n.state = 'sent')
		ORDER BY d.deadline_at, d.id`, at(after))
}

// newestEach keeps the newest notice for each shift and teacher, in the order of the list.
func newestEach(notices []noticeConcern) []noticeConcern {
	newest := map[pair]int64{}
	for _, n := range notices {
		k := pair{n.shift.ID, n.teacher.ID}
		newest[k] = max(newest[k], n.ID)
	}
	return slices.DeleteFunc(notices, func(n noticeConcern) bool { return newest[pair{n.shift.ID, n.teacher.ID}] != n.ID })
}

// missedNotices lists the notices that did not go before their shift began, until a day after its end.
func (s *Store) missedNotices(t *tx) ([]roster.NoticeConcern, error) {
	longest := time.Duration(roster.LastMinute) * time.Minute
	notices, err := s.canceledNotices(t, t.now.Add(-missedShown-longest), `d.code = '`+string(roster.CodeShiftStarted)+`'`)
	if err != nil {
		return nil, err
	}
	var missed []roster.NoticeConcern
	for _, n := range newestEach(notices) {
		theirs := n.shift.State == roster.ShiftConfirmed && n.shift.TeacherID == n.teacher.ID
		if theirs == (n.Kind == roster.ShiftCancellation) {
			continue // what it would have said is not so any more
		}
		work, err := t.subject(n, theirs)
		if err != nil {
			return nil, err
		}
		runs := time.Duration(work.Times.End-work.Times.Start) * time.Minute
		if !n.DeadlineAt.Add(runs + missedShown).After(t.now) {
			continue
		}
		if n.Shift, err = inWords(t, work); err != nil {
			return nil, err
		}
		missed = append(missed, n.NoticeConcern)
	}
	return missed, nil
}

// subject is what a notice is about: the shift as it is, or when it is not theirs as they were told it last.
func (t *tx) subject(n noticeConcern, theirs bool) (roster.Work, error) {
	if theirs {
		return n.shift.Work(), nil
	}
	told, err := t.told(n.shift.ID, n.LINEID)
	for _, x := range slices.Backward(told) {
		if !x.Canceled {
			return x.Work, err
		}
	}
	return n.shift.Work(), err
}

// inWords names the classroom of a shift.
func inWords(t *tx, w roster.Work) (roster.ToldShift, error) {
	c, err := classroom(t.ctx, t, w.ClassroomID)
	return roster.ToldShift{Classroom: c.Name, Date: w.Date, Times: w.Times}, wrap(err, "classroom %d", w.ClassroomID)
}

// untoldChanges lists the corrections and cancellations of shifts ahead that cannot be sent and would still be needed.
func (s *Store) untoldChanges(t *tx) ([]roster.NoticeConcern, error) {
	notices, err := s.canceledNotices(t, t.now, `d.kind IN ('`+string(roster.ShiftCorrection)+`', '`+string(roster.ShiftCancellation)+`')
		AND d.code IN ('`+string(roster.CodeTeacherUnlinked)+`', '`+string(roster.CodeLINEDisabled)+`', '`+string(roster.CodeTeacherInactive)+`')`)
	if err != nil {
		return nil, err
	}
	var untold []roster.NoticeConcern
	for _, n := range newestEach(notices) {
		if n.teacher.Linked() && n.LINEID != "" && n.teacher.LINEUserID != n.LINEID {
			continue // linked anew: that LINE user was told nothing
		}
		as := n.teacher
		as.LINEUserID = cmp.Or(n.LINEID, as.LINEUserID)
		st, err := s.standing(t, n.shift.ID, as)
		if err != nil {
			return nil, err
		}
		kind := roster.ShiftCancellation
		if st.Theirs {
			kind = roster.ShiftCorrection
		}
		code := roster.CannotTell(n.teacher, kind)
		if !st.Untrue() || code == "" {
			continue
		}
		n.Kind, n.Code = kind, code
		work, err := t.subject(n, st.Theirs)
		if err != nil {
			return nil, err
		}
		if n.Shift, err = inWords(t, work); err != nil {
			return nil, err
		}
		untold = append(untold, n.NoticeConcern)
	}
	return untold, nil
}

// runningChanges lists the shifts that run and are not what their people were told, where no start is ahead any more
// and so no notice is made; but those whose notice came too late, which are listed as such.
func (s *Store) runningChanges(t *tx, today roster.Date, missed []roster.NoticeConcern) ([]roster.RunningChange, error) {
	// Told shifts, and those that changed after they began, which were given to somebody who was told nothing.
	pairs, err := list(t.ctx, t, scanPair, `SELECT x.shift_id, v.id FROM told x JOIN teachers v ON v.line_user_id = x.line_id AND v.line_user_id <> ''
		WHERE x.certainty <> 'void' AND x.date BETWEEN ?1 AND ?2
		UNION SELECT x.shift_id, v.id FROM shifts s JOIN told x ON x.shift_id = s.id JOIN teachers v ON v.line_user_id = x.line_id AND v.line_user_id <> ''
		WHERE x.certainty <> 'void' AND s.date BETWEEN ?1 AND ?2
		UNION SELECT s.id, s.teacher_id FROM shifts s WHERE s.state = 'confirmed' AND s.date BETWEEN ?1 AND ?2 AND s.version > 1`, today.AddDays(-1), today)
	if err != nil {
		return nil, err
	}
	var running []roster.RunningChange
	for _, p := range pairs {
		if slices.ContainsFunc(missed, func(n roster.NoticeConcern) bool { return n.ShiftID == p.shiftID && n.TeacherID == p.teacherID }) {
			continue
		}
		c, found, err := s.runningChange(t, p)
		if err != nil {
			return nil, err
		}
		if found {
			running = append(running, c)
		}
	}
	slices.SortFunc(running, func(a, b roster.RunningChange) int {
		return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.ShiftID, b.ShiftID), cmp.Compare(a.TeacherID, b.TeacherID))
	})
	return running, nil
}

func (s *Store) runningChange(t *tx, p pair) (c roster.RunningChange, found bool, err error) {
	v, err := teacher(t.ctx, t, p.teacherID)
	if err != nil {
		return c, false, wrap(err, "teacher %d", p.teacherID)
	}
	st, err := s.standing(t, p.shiftID, v)
	if err != nil {
		return c, false, err
	}
	x := st.Shift
	runs := func(w roster.Work) bool {
		return !roster.Instant(w.Date, w.Times.Start, s.loc).After(t.now) && roster.Instant(w.Date, w.Times.End, s.loc).After(t.now)
	}
	// A shift that was entered after it began is the record of what everybody knows, one given to somebody is not.
	late := st.Theirs && len(st.Told) == 0 && runs(x.Work()) && !x.ChangedAt.Before(x.Start(s.loc))
	if late {
		if err := t.row(`SELECT created_at < ? FROM shifts WHERE id = ?`, at(x.Start(s.loc)), x.ID).Scan(&late); err != nil {
			return c, false, err
		}
	}
	var told *roster.Work
	for i, told1 := range st.Told {
		if !told1.Canceled {
			told = &st.Told[i].Work
		}
	}
	wrong := st.Untrue() && st.Deadline(t.now, s.loc).IsZero() && (st.Theirs && runs(x.Work()) || told != nil && runs(*told))
	if !late && !wrong {
		return c, false, nil
	}
	c = roster.RunningChange{ShiftID: x.ID, TeacherID: v.ID, Teacher: v.Name, Date: x.Date}
	room, err := classroom(t.ctx, t, x.ClassroomID)
	if err != nil {
		return c, false, wrap(err, "classroom %d", x.ClassroomID)
	}
	c.GroupID = room.GroupID
	if st.Theirs {
		c.Now = &roster.ToldShift{Classroom: room.Name, Date: x.Date, Times: x.Times}
	}
	if told != nil {
		before, err := inWords(t, *told)
		if err != nil {
			return c, false, err
		}
		c.Before = &before
	}
	return c, true, nil
}

// unreachable lists the teachers who cannot be told of a shift of the next days, or perhaps not, by its start.
func (s *Store) unreachable(t *tx, today roster.Date) ([]roster.Unreachable, error) {
	type row struct {
		roster.Unreachable
		work roster.Work
	}
	rows, err := list(t.ctx, t, func(r scanner) (x row, err error) {
		v := &x.Teacher
		err = r.Scan(&v.ID, &v.ClassroomID, &v.Name, &v.LINEUserID, &v.NoticesOn, &v.Blocked, scanInstant(&v.ArchivedAt),
			&x.work.ClassroomID, &x.work.Date, &x.work.Times.Start, &x.work.Times.End)
		return x, err
	}, `SELECT v.id, v.classroom_id, v.name, v.line_user_id, v.notices_on, v.blocked, v.archived_at, s.classroom_id, s.date, s.start_minutes, s.end_minutes
		FROM shifts s JOIN teachers v ON v.id = s.teacher_id
		WHERE s.state = 'confirmed' AND s.date BETWEEN ? AND ? AND (v.line_user_id = '' OR v.notices_on = 0 OR v.blocked = 1 OR v.archived_at IS NOT NULL)
		ORDER BY s.date, s.start_minutes, v.id`, today, today.AddDays(unreachableDays-1))
	if err != nil {
		return nil, fmt.Errorf("teachers who cannot be told: %w", err)
	}
	var people []roster.Unreachable
	for _, x := range rows {
		x.Start = roster.Instant(x.work.Date, x.work.Times.Start, s.loc)
		if !x.Start.After(t.now) || slices.ContainsFunc(people, func(u roster.Unreachable) bool { return u.Teacher.ID == x.Teacher.ID }) {
			continue
		}
		if x.First, err = inWords(t, x.work); err != nil {
			return nil, err
		}
		x.Code = roster.CannotTell(x.Teacher, roster.ShiftReminder)
		people = append(people, x.Unreachable)
	}
	return people, nil
}

// draftsSoon adds a group's drafts of the next days.
func (s *Store) draftsSoon(t *tx, g roster.Group, today roster.Date, c *roster.Concerns) error {
	type draft struct {
		work    roster.Work
		teacher string
	}
	drafts, err := list(t.ctx, t, func(r scanner) (d draft, err error) {
		err = r.Scan(&d.work.ClassroomID, &d.work.Date, &d.work.Times.Start, &d.work.Times.End, &d.teacher)
		return d, err
	}, `SELECT s.classroom_id, s.date, s.start_minutes, s.end_minutes, v.name FROM shifts s JOIN classrooms c ON c.id = s.classroom_id JOIN teachers v ON v.id = s.teacher_id
		WHERE c.group_id = ? AND s.state = 'draft' AND s.date BETWEEN ? AND ? ORDER BY s.date, s.start_minutes, v.id`, g.ID, today, today.AddDays(draftDays-1))
	if err != nil {
		return fmt.Errorf("drafts of group %d: %w", g.ID, err)
	}
	drafts = slices.DeleteFunc(drafts, func(d draft) bool { return !roster.Instant(d.work.Date, d.work.Times.Start, s.loc).After(t.now) })
	if len(drafts) == 0 {
		return nil
	}
	first, err := inWords(t, drafts[0].work)
	if err != nil {
		return err
	}
	c.Drafts = append(c.Drafts, roster.DraftsSoon{Group: roster.Named{ID: g.ID, Name: g.Name}, Count: len(drafts), First: first, Teacher: drafts[0].teacher})
	return nil
}

// publishedMonths lists how far the months of a group are that were published, from a month on.
func (s *Store) publishedMonths(t *tx, g roster.Group, from roster.Month) ([]roster.MonthStand, error) {
	months, err := list(t.ctx, t, func(r scanner) (m roster.Month, err error) {
		err = r.Scan(&m)
		return m, err
	}, `SELECT DISTINCT month FROM publications WHERE group_id = ? AND month >= ? ORDER BY month`, g.ID, from)
	if err != nil {
		return nil, fmt.Errorf("published months of group %d: %w", g.ID, err)
	}
	var stands []roster.MonthStand
	for _, m := range months {
		stand, err := s.monthStand(t, g, m)
		if err != nil {
			return nil, err
		}
		if stand.Published() {
			stands = append(stands, stand)
		}
	}
	return stands, nil
}

// monthStand reads how far a group's month is.
func (s *Store) monthStand(t *tx, g roster.Group, m roster.Month) (roster.MonthStand, error) {
	v := roster.MonthStand{Group: g, Month: m}
	fail := func(err error) (roster.MonthStand, error) {
		return v, fmt.Errorf("month %s of group %d: %w", m, g.ID, err)
	}
	err := t.row(`SELECT coalesce(sum(s.state = 'draft'), 0), coalesce(sum(s.state = 'confirmed'), 0) FROM shifts s JOIN classrooms c ON c.id = s.classroom_id
		WHERE c.group_id = ? AND s.date BETWEEN ? AND ?`, g.ID, m.First(), m.Last()).Scan(&v.Drafts, &v.Confirmed)
	if err != nil {
		return fail(err)
	}
	newest, err := newestPublication(t.ctx, t, g.ID, m)
	if errors.Is(err, ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return fail(err)
	}
	v.PublicationID, v.Number, v.PublishedAt = newest.ID, newest.Number, newest.PublishedAt
	now, err := snapshot(t.ctx, t, g, m)
	if err != nil {
		return fail(err)
	}
	v.Changes = roster.Compare(newest.Sheet.Snapshot, now)
	if v.Announcement, err = s.announcement(t, g, newest); err != nil {
		return fail(err)
	}
	return v, nil
}

// announcement says how far the newest publication of a month is known to the LINE group that is linked now.
func (s *Store) announcement(t *tx, g roster.Group, newest roster.Publication) (roster.AnnouncementState, error) {
	if g.LINEGroupID == "" {
		return roster.AnnouncementNone, nil
	}
	d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE publication_id = ? ORDER BY id DESC LIMIT 1`, newest.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return roster.AnnouncementMissing, nil
	case err != nil:
		return "", err
	case d.State.Live():
		return roster.AnnouncementWaiting, nil
	}
	told, _, err := announcedBefore(t.ctx, t, g, newest.Month, newest.Number+1)
	if err == nil && told.ID == newest.ID {
		return roster.AnnouncementSent, nil
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	switch {
	case d.Code == roster.CodeCanceledByAdmin:
		return roster.AnnouncementCalledOff, nil
	case d.State == roster.Failed:
		code, err := s.check(t, d)
		if err != nil || code == "" {
			return roster.AnnouncementFailed, err
		}
	}
	return roster.AnnouncementMissing, nil
}

// homeDay reads a group's confirmed shifts of a day with how far their reminders are.
func (s *Store) homeDay(t *tx, groupID int64, on roster.Date) (roster.HomeDay, error) {
	day := roster.HomeDay{Date: on}
	shifts, err := list(t.ctx, t, scanShift, `SELECT `+qualify("s", shiftColumns)+` FROM shifts s JOIN classrooms c ON c.id = s.classroom_id
		WHERE c.group_id = ? AND s.state = 'confirmed' AND s.date = ? ORDER BY s.start_minutes, s.end_minutes, c.position, s.id`, groupID, on)
	if err != nil {
		return day, err
	}
	for _, x := range shifts {
		h := roster.HomeShift{Shift: x}
		if h.Teacher, err = teacher(t.ctx, t, x.TeacherID); err != nil {
			return day, wrap(err, "teacher %d", x.TeacherID)
		}
		if h.Classroom, err = classroom(t.ctx, t, x.ClassroomID); err != nil {
			return day, wrap(err, "classroom %d", x.ClassroomID)
		}
		st := roster.Standing{Shift: x}
		if err := t.row(`SELECT g.lead_minutes FROM groups g JOIN classrooms c ON c.group_id = g.id WHERE c.id = ?`, x.ClassroomID).Scan(&st.LeadMinutes); err != nil {
			return day, fmt.Errorf("lead of shift %d: %w", x.ID, err)
		}
		notices, err := reminderNotices(t, x, h.Teacher)
		if err != nil {
			return day, fmt.Errorf("notices of shift %d: %w", x.ID, err)
		}
		h.Reminder = roster.ReminderOf(st, h.Teacher, notices, t.now, s.loc)
		day.Shifts = append(day.Shifts, h)
	}
	return day, nil
}

// reminderNotices lists the notices that tell a shift as it is, or would have, to its teacher as they are linked now, the
// newest first. One about another shift counts when it told the same classroom, date and times. (The + keeps SQLite from
// walking all notices of a teacher instead of the few of a shift.)
func reminderNotices(t *tx, x roster.Shift, v roster.Teacher) ([]roster.ReminderNotice, error) {
	return list(t.ctx, t, func(r scanner) (n roster.ReminderNotice, err error) {
		err = r.Scan(append(deliveryTargets(&n.Delivery), &n.MayHaveArrived)...)
		return n, err
	}, `SELECT `+qualify("d", deliveryColumns)+`, `+mayHaveArrived+` FROM deliveries d WHERE d.kind IN ('shift_reminder', 'shift_correction')
		AND d.id IN (SELECT id FROM deliveries WHERE shift_id = ?1 AND +teacher_id = ?2
				AND ((state = 'canceled' AND code <> 'CANCELED_BY_ADMIN') OR (shift_version = ?3 AND line_id = ?4))
			UNION SELECT w.delivery_id FROM told w WHERE w.line_id = ?4 AND w.date = ?5 AND w.certainty <> 'void' AND w.canceled = 0
				AND w.classroom_id = ?6 AND w.start_minutes = ?7 AND w.end_minutes = ?8)
		ORDER BY d.id DESC`, x.ID, v.ID, x.Version, v.LINEUserID, x.Date, x.ClassroomID, x.Times.Start, x.Times.End)
}

// EventPhoned tells that an admin told a person by phone what a notice could not.
const EventPhoned = "phoned"

// ErrNotUntold tells that a delivery is no notice about a shift, is on its way or arrived, so that nobody need be phoned.
var ErrNotUntold = errors.New("the delivery leaves nobody untold")

// NotePhoneCall notes that an admin told a person by phone what a failed or canceled notice could not. Until the shift
// changes again nobody is asked to do so. Beside failures the error is ErrNotFound or ErrNotUntold.
func (s *Store) NotePhoneCall(ctx context.Context, deliveryID, adminID int64) error {
	err := s.inTx(ctx, func(t *tx) error {
		d, err := one(t.ctx, t, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries WHERE id = ?`, deliveryID)
		if err != nil {
			return err
		}
		if !d.Kind.AboutShift() || d.State != roster.Failed && d.State != roster.Canceled {
			return ErrNotUntold
		}
		return t.event(d.ID, EventPhoned, "", adminID)
	})
	return wrap(err, "note the phone call for delivery %d", deliveryID)
}
