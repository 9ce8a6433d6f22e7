package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/jobs/line"
	"shiftpost/views"
	"shiftpost/views/text"
	"shiftpost/views/ui"
)

// LINE is what the site asks LINE while somebody waits for a page. *line.Client is one.
type LINE interface {
	BotInfo(ctx context.Context) (line.BotInfo, error)
	GroupFacts(ctx context.Context, groupID string) (roster.LINEGroup, error)
	GroupMember(ctx context.Context, groupID, userID string) (line.Profile, error)
	Profile(ctx context.Context, userID string) (line.Profile, error)
	Push(ctx context.Context, body []byte, retryKey string) (line.Answer, error)
}

// newLINEGroups reads the LINE groups that are tied to no group, and the groups that could take one.
func (s *Site) newLINEGroups(ctx context.Context) (views.NewLINEGroups, error) {
	v := views.NewLINEGroups{Location: s.loc}
	var err error
	if v.LINEGroups, err = s.store.UntiedLINEGroups(ctx); err != nil || len(v.LINEGroups) == 0 {
		return v, err
	}
	groups, err := s.groupsInUse(ctx)
	v.Groups = slices.DeleteFunc(groups, roster.Group.Linked)
	return v, err
}

// showGroupLINE shows the LINE group that a group announces to.
func (s *Site) showGroupLINE(c echo.Context) error {
	g, err := s.group(c)
	if err != nil {
		return err
	}
	return s.renderGroupLINE(c, http.StatusOK, views.GroupLINE{Group: g})
}

// renderGroupLINE fills in what is shown beside what v says already.
func (s *Site) renderGroupLINE(c echo.Context, status int, v views.GroupLINE) error {
	ctx := c.Request().Context()
	concerned, err := s.atHome(ctx, v.Group.ID)
	if err != nil {
		return err
	}
	if v.Members, err = s.members(ctx, &v.Group, concerned); err != nil {
		return err
	}
	if v.New, err = s.newLINEGroups(ctx); err != nil {
		return err
	}
	v.New.Groups = []roster.Group{v.Group}
	if v.Unannounced, err = s.store.Unannounced(ctx, v.Group.ID, s.today().MonthOf()); err != nil {
		return err
	}
	if !v.Group.Linked() {
		v.Account = s.account(ctx).DisplayName
	}
	if v.RetryKey == "" {
		v.RetryKey = uuid.NewString()
	}
	return s.render(c, screen{
		status:   status,
		page:     views.Page{Title: text.T(ctx, "linegroups.title"), Place: views.PlaceSettings, Styles: []string{"publication.css", "linking.css"}},
		body:     views.GroupLINEPage(v),
		fragment: views.GroupLINEContent(v),
	})
}

// atHome lists the teachers whose home is in a group.
func (s *Site) atHome(ctx context.Context, groupID int64) ([]int64, error) {
	classrooms, err := s.store.Classrooms(ctx)
	if err != nil {
		return nil, err
	}
	teachers, err := s.store.Teachers(ctx)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, t := range teachers {
		if slices.ContainsFunc(classrooms, func(r roster.Classroom) bool { return r.ID == t.ClassroomID && r.GroupID == groupID }) {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}

// accountMemory keeps what LINE said of the account, which hardly ever changes.
type accountMemory struct {
	mu      sync.Mutex
	info    line.BotInfo
	known   bool
	askedAt time.Time // in vain
}

// account returns the LINE account that people invite and befriend, empty if LINE does not say. When it did not, nobody
// asks again for a while: a page that looks again and again would wait each time.
func (s *Site) account(ctx context.Context) line.BotInfo {
	m := &s.accountMemory
	m.mu.Lock()
	defer m.mu.Unlock()
	now := s.clock.Now()
	if s.line == nil || m.known || (!m.askedAt.IsZero() && now.Sub(m.askedAt) < membersRetried) {
		return m.info
	}
	ctx, stop := context.WithTimeout(ctx, membersPatience)
	defer stop()
	info, err := s.line.BotInfo(ctx)
	if err != nil {
		m.askedAt = now
		s.log.WarnContext(ctx, "LINE did not say what the account is called", "error", err)
		return line.BotInfo{}
	}
	m.info, m.known = info, true
	return info
}

// tieLINEGroup makes a LINE group the one that a group announces to.
func (s *Site) tieLINEGroup(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	g, err := s.group(c)
	if err != nil {
		return err
	}
	lineGroupID := f.id("line_group")
	if lineGroupID == 0 {
		return fmt.Errorf("%w: no LINE group", errBadRequest)
	}
	failure := ""
	switch err := s.store.TieLINEGroup(f.ctx, g.ID, lineGroupID); {
	case err == nil:
	case errors.Is(err, db.ErrLinkTaken):
		failure = text.T(f.ctx, "linegroups.taken")
	case errors.Is(err, db.ErrLINEGroupLeft):
		failure = text.T(f.ctx, "linegroups.gone")
	default:
		return err
	}
	if failure != "" {
		return s.renderGroupLINE(c, http.StatusConflict, views.GroupLINE{Group: g, Failure: failure})
	}
	if g, err = s.store.Group(f.ctx, g.ID); err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(f.ctx, "linegroups.tied", "Group", g.Name, "Name", g.LINEGroupName))
	return redirect(c, views.GroupLINEPath(g.ID))
}

// untieLINEGroup ends a group's link to its LINE group.
func (s *Site) untieLINEGroup(c echo.Context) error {
	ctx := c.Request().Context()
	g, err := s.group(c)
	if err != nil {
		return err
	}
	if err := s.store.UntieGroup(ctx, g.ID); err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "linegroups.untied", "Group", g.Name))
	return redirect(c, views.GroupLINEPath(g.ID))
}

// dismissLINEGroup takes a LINE group that is not the school's off the list of new ones.
func (s *Site) dismissLINEGroup(c echo.Context) error {
	lineGroupID, err := idParam(c, "line_group")
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	l, err := s.store.LINEGroup(ctx, lineGroupID)
	if err != nil {
		return err
	}
	if err := s.store.DismissLINEGroup(ctx, l.ID); err != nil {
		return err
	}
	s.flash(c, ui.Done, text.T(ctx, "linegroups.dismissed", "Name", l.Name))
	return redirect(c, "/groups")
}

// createTestMessage sends a message that says nothing to a group's LINE group and shows what LINE answered.
//
// It is no delivery: nothing depends on its arrival, somebody is looking at the answer, and a try that the program made
// later by itself would surprise a group of people. The form brings the retry key along, so that pressing twice, or
// again after an answer was lost, posts once.
func (s *Site) createTestMessage(c echo.Context) error {
	f, err := readForm(c)
	if err != nil {
		return err
	}
	g, err := s.group(c)
	if err != nil {
		return err
	}
	key, err := uuid.Parse(f.values.Get("retry_key"))
	if err != nil {
		return fmt.Errorf("%w: no retry key", errBadRequest)
	}
	if !g.Linked() || s.line == nil {
		return s.renderGroupLINE(c, http.StatusConflict, views.GroupLINE{Group: g})
	}
	body, err := testMessage(g.LINEGroupID)
	if err != nil {
		return err
	}
	v := views.GroupLINE{Group: g, Test: &views.TestMessage{Outcome: roster.Accepted, Count: g.LINEMemberCount}}
	status := http.StatusOK
	answer, err := s.line.Push(f.ctx, body, key.String())
	v.Test.RequestID = answer.RequestID
	if err != nil {
		status = http.StatusBadGateway
		v.Test.Outcome, v.Test.Code = roster.Unknown, string(roster.CodeInternal)
		var refusal *line.Error
		if errors.As(err, &refusal) {
			v.Test.Code, v.Test.Message = refusal.Code, refusal.Message
			if refusal.Class != line.Unknown {
				v.Test.Outcome = roster.Refused
			}
		}
		if v.Test.Outcome == roster.Unknown {
			v.RetryKey = key.String()
		}
		c.Set(loggedError, err)
	}
	return s.renderGroupLINE(c, status, v)
}

// testMessage is the body of a push of the test message, in the school's language.
func testMessage(lineGroupID string) ([]byte, error) {
	ctx := text.WithLanguage(context.Background(), text.Japanese)
	return json.Marshal(map[string]any{
		"to":       lineGroupID,
		"messages": []map[string]string{{"type": "text", "text": text.T(ctx, "messages.test")}},
	})
}
