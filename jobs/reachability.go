package jobs

import (
	"context"
	"errors"
	"fmt"

	"shiftpost/db/roster"
	"shiftpost/jobs/line"
)

// contacts is what the reachability sweep needs of LINE.
type contacts interface {
	groupAsker
	Profile(ctx context.Context, userID string) (line.Profile, error)
}

// CheckReachability asks LINE about every linked teacher whether they are a friend of the account, and about every LINE
// group whether the account is still in it, how it is called and how many members it has. It returns how many teachers
// and groups were other than known. One that LINE does not answer about does not stop the rest, but a fault of the
// whole channel does.
func (s *Sweeps) CheckReachability(ctx context.Context) (int, error) {
	return s.recorded(ctx, SweepReachability, func(ctx context.Context) (int, error) {
		n, err := s.checkFriends(ctx)
		if !channelFault(err) && ctx.Err() == nil {
			groups, groupErr := s.checkGroups(ctx)
			n, err = n+groups, errors.Join(err, groupErr)
		}
		return n, err
	})
}

func (s *Sweeps) checkFriends(ctx context.Context) (n int, err error) {
	teachers, err := s.o.Store.Teachers(ctx)
	if err != nil {
		return 0, err
	}
	for _, t := range teachers {
		if !t.Active() || !t.Linked() {
			continue
		}
		askedAt := s.o.Store.Now()
		_, askErr := s.o.LINE.Profile(ctx, t.LINEUserID)
		if askErr != nil && !line.NotFound(askErr) {
			err = errors.Join(err, fmt.Errorf("ask about teacher %d: %w", t.ID, askErr))
			if channelFault(askErr) || ctx.Err() != nil {
				return n, err
			}
			continue
		}
		changed, noteErr := s.o.Store.NoteFriend(ctx, t.LINEUserID, askErr == nil, askedAt)
		err = errors.Join(err, noteErr)
		if changed {
			n++
		}
	}
	return n, err
}

func (s *Sweeps) checkGroups(ctx context.Context) (n int, err error) {
	groups, err := s.o.Store.PresentLINEGroups(ctx)
	if err != nil {
		return 0, err
	}
	for _, g := range groups {
		askedAt := s.o.Store.Now()
		found, askErr := groupFacts(ctx, s.o.LINE, g.LINEGroupID)
		if askErr != nil {
			err = errors.Join(err, fmt.Errorf("ask about LINE group %d: %w", g.ID, askErr))
			if channelFault(askErr) || ctx.Err() != nil {
				return n, err
			}
			continue
		}
		if found == nil || found.Name != g.Name || found.MemberCount != g.MemberCount {
			n++
		}
		err = errors.Join(err, s.o.Store.NoteLINEGroup(ctx, g.LINEGroupID, found, askedAt))
	}
	return n, err
}

// groupAsker is who can be asked about a LINE group.
type groupAsker interface {
	GroupFacts(ctx context.Context, groupID string) (roster.LINEGroup, error)
}

// groupFacts asks LINE for the name and the member count of a LINE group; nil if the account is not in it.
func groupFacts(ctx context.Context, l groupAsker, groupID string) (*roster.LINEGroup, error) {
	found, err := l.GroupFacts(ctx, groupID)
	switch {
	case err == nil:
		return &found, nil
	case line.NotFound(err):
		return nil, nil
	}
	return nil, err
}

// channelFault reports whether LINE refused for a reason that meets every request.
func channelFault(err error) bool {
	var refusal *line.Error
	return errors.As(err, &refusal) && refusal.Class == line.ChannelFault
}
