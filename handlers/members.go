package handlers

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"shiftpost/db/roster"
	"shiftpost/jobs/line"
	"shiftpost/views"
)

const (
	// membersPatience bounds how long a page waits for LINE to say who is in a LINE group.
	membersPatience = 4 * time.Second
	// membersAtOnce is how many people LINE is asked about at a time.
	membersAtOnce = 6
	// membersKept is how long an answer is shown again, and membersRetried how long nobody asks again after LINE did not
	// answer, so that a page that is opened again does not wait again.
	membersKept    = time.Minute
	membersRetried = 15 * time.Second
)

// memberCheck remembers for a short while who is in a LINE group: its page and the publish page are opened again and
// again, and each answer is a request to LINE for every person.
type memberCheck struct {
	mu    sync.Mutex
	found map[string]membersFound // by LINE group
}

// membersFound is which LINE users were found in a LINE group.
type membersFound struct {
	checked bool // LINE answered
	count   int
	inside  map[string]bool // by LINE user
	until   time.Time
}

// known returns what was found a short while ago.
func (m *memberCheck) known(lineGroupID string, now time.Time) (membersFound, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, ok := m.found[lineGroupID]
	return f, ok && now.Before(f.until)
}

func (m *memberCheck) keep(lineGroupID string, f membersFound) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == nil {
		m.found = map[string]membersFound{}
	}
	m.found[lineGroupID] = f
}

// membersAtHand reports whether members would answer without asking LINE.
func (s *Site) membersAtHand(g roster.Group) bool {
	if s.line == nil || !g.Linked() {
		return true
	}
	_, ok := s.memberCheck.known(g.LINEGroupID, s.clock.Now())
	return ok
}

// members returns who of everybody ever linked is in a group's LINE group; nil if the group is linked to none. Those of
// concerned who are linked but not in it are named as absent. LINE is asked, for a few seconds at most; when it does not
// answer, nothing is known and nothing is refused. What it says of the group itself is stored, and g is brought up to
// date: it may turn out that the account is no longer in it.
func (s *Site) members(ctx context.Context, g *roster.Group, concerned []int64) (*views.Members, error) {
	if s.line == nil || !g.Linked() {
		return nil, nil
	}
	links, err := s.store.Links(ctx)
	if err != nil {
		return nil, err
	}
	found, ok := s.memberCheck.known(g.LINEGroupID, s.clock.Now())
	if !ok {
		if found, err = s.askMembers(ctx, g, links); err != nil {
			return nil, err
		}
		if !g.Linked() {
			return nil, nil
		}
	}
	v := &views.Members{Checked: found.checked, Count: found.count}
	if !found.checked {
		return v, nil
	}
	for _, l := range links {
		switch {
		case found.inside[l.LINEUserID] && !l.Teacher.Active():
			v.Former = appendTeacher(v.Former, l.Teacher)
		case found.inside[l.LINEUserID]:
			v.Inside = appendTeacher(v.Inside, l.Teacher)
		case l.UnlinkedAt.IsZero() && l.Teacher.Active() && slices.Contains(concerned, l.Teacher.ID):
			v.Absent = appendTeacher(v.Absent, l.Teacher)
		}
	}
	return v, nil
}

// appendTeacher adds a teacher once: who changed their LINE user may be in the group as both.
func appendTeacher(list []roster.Teacher, t roster.Teacher) []roster.Teacher {
	if slices.ContainsFunc(list, func(o roster.Teacher) bool { return o.ID == t.ID }) {
		return list
	}
	return append(list, t)
}

// askMembers asks LINE about a LINE group and everybody who could be in it.
func (s *Site) askMembers(ctx context.Context, g *roster.Group, links []roster.Link) (membersFound, error) {
	now := s.clock.Now()
	asking, stop := context.WithTimeout(ctx, membersPatience)
	defer stop()
	facts, err := s.line.GroupFacts(asking, g.LINEGroupID)
	if err == nil || line.NotFound(err) {
		found := &facts
		if err != nil {
			found = nil
		}
		if err := s.store.NoteLINEGroup(ctx, g.LINEGroupID, found, now); err != nil {
			return membersFound{}, err
		}
		if *g, err = s.store.Group(ctx, g.ID); err != nil || found == nil {
			return membersFound{}, err
		}
	}
	f := membersFound{checked: err == nil, count: facts.MemberCount, inside: map[string]bool{}, until: now.Add(membersKept)}
	if err == nil {
		err = s.askEach(asking, g.LINEGroupID, links, f.inside)
	}
	if err != nil {
		if ctx.Err() != nil {
			return membersFound{}, ctx.Err()
		}
		s.log.WarnContext(ctx, "LINE did not say who is in a group", "group", g.ID, "error", err)
		f = membersFound{until: now.Add(membersRetried)}
	}
	s.memberCheck.keep(g.LINEGroupID, f)
	return f, nil
}

// askEach fills inside with the people who are in a LINE group.
func (s *Site) askEach(ctx context.Context, lineGroupID string, links []roster.Link, inside map[string]bool) error {
	var mu sync.Mutex
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(membersAtOnce)
	for _, l := range links {
		asking.Go(func() error {
			_, err := s.line.GroupMember(ctx, lineGroupID, l.LINEUserID)
			if line.NotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			inside[l.LINEUserID] = true
			return nil
		})
	}
	return asking.Wait()
}
