package db_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
)

// invite makes the invitation of the school's third teacher, who is not linked.
func invite(t *testing.T, s *dbtest.School) db.IssuedInvitation {
	t.Helper()
	issued := dbtest.Must(s.Store.CreateInvitations(t.Context(), []int64{s.Teachers[2].ID}, s.Admin.ID))(t)
	if len(issued) != 1 || issued[0].Token == "" {
		t.Fatalf("issued %+v", issued)
	}
	return issued[0]
}

func TestAnInvitationLinksOneLINEUserOnce(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	x := invite(t, s)
	user := dbtest.LINEUserID(3)
	if v := dbtest.Must(s.Store.Invitation(ctx, x.Token, user))(t); v.ID != s.Teachers[2].ID {
		t.Errorf("it is for teacher %d", v.ID)
	}
	if v := dbtest.Must(s.Store.AcceptInvitation(ctx, x.Token, user))(t); v.LINEUserID != user || v.Name != s.Teachers[2].Name {
		t.Errorf("it made %+v", v)
	}
	if _, err := s.Store.AcceptInvitation(ctx, x.Token, dbtest.LINEUserID(4)); !errors.Is(err, db.ErrInvitationUsed) {
		t.Errorf("used twice: %v", err)
	}
	if at := dbtest.Must(s.Store.LinkedAt(ctx, s.Teachers[2].ID))(t); !at.Equal(s.Store.Now()) {
		t.Errorf("linked at %v", at)
	}
	if open := dbtest.Must(s.Store.OpenInvitations(ctx))(t); len(open) != 0 {
		t.Errorf("open invitations: %+v", open)
	}
}

func TestAnInvitationThatIsNoGoodSaysWhy(t *testing.T) {
	t.Parallel()
	user := dbtest.LINEUserID(3)
	for name, story := range map[string]struct {
		spoil func(*testing.T, *dbtest.School, db.IssuedInvitation)
		user  string
		want  error
	}{
		"too old": {func(t *testing.T, s *dbtest.School, _ db.IssuedInvitation) { s.Clock.Advance(roster.InvitationLife) }, user, db.ErrInvitationExpired},
		"just in time": {func(t *testing.T, s *dbtest.School, _ db.IssuedInvitation) {
			s.Clock.Advance(roster.InvitationLife - time.Millisecond)
		}, user, nil},
		"withdrawn": {func(t *testing.T, s *dbtest.School, x db.IssuedInvitation) {
			if err := s.Store.RevokeInvitation(t.Context(), x.TeacherID); err != nil {
				t.Fatal(err)
			}
		}, user, db.ErrInvitationRevoked},
		"replaced by a newer one": {func(t *testing.T, s *dbtest.School, _ db.IssuedInvitation) { invite(t, s) }, user, db.ErrInvitationRevoked},
		"the teacher left": {func(t *testing.T, s *dbtest.School, x db.IssuedInvitation) {
			if err := s.Store.ArchiveTeacher(t.Context(), x.TeacherID); err != nil {
				t.Fatal(err)
			}
		}, user, db.ErrInvitationRevoked},
		"the teacher was linked otherwise": {func(t *testing.T, s *dbtest.School, x db.IssuedInvitation) {
			if err := s.Store.LinkTeacher(t.Context(), x.TeacherID, dbtest.LINEUserID(8)); err != nil {
				t.Fatal(err)
			}
		}, user, db.ErrInvitationRevoked},
		"the LINE user is another teacher": {func(*testing.T, *dbtest.School, db.IssuedInvitation) {}, dbtest.LINEUserID(1), db.ErrLinkTaken},
		"the LINE user was a teacher who left": {func(t *testing.T, s *dbtest.School, _ db.IssuedInvitation) {
			if err := s.Store.ArchiveTeacher(t.Context(), s.Teachers[0].ID); err != nil {
				t.Fatal(err)
			}
		}, dbtest.LINEUserID(1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.NewSchool(t)
			x := invite(t, s)
			story.spoil(t, s, x)
			if _, err := s.Store.Invitation(t.Context(), x.Token, story.user); !errors.Is(err, story.want) {
				t.Errorf("shown: %v, want %v", err, story.want)
			}
			v, err := s.Store.AcceptInvitation(t.Context(), x.Token, story.user)
			if !errors.Is(err, story.want) || (err == nil) != (v.LINEUserID == story.user && v.ID == x.TeacherID) {
				t.Errorf("accepted: %+v, %v, want %v", v, err, story.want)
			}
		})
	}
	s := dbtest.NewSchool(t)
	if _, err := s.Store.AcceptInvitation(t.Context(), "NOSUCHTOKEN", user); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestOnlyWhoIsActiveAndNotLinkedIsInvited(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	all := []int64{s.Teachers[0].ID, s.Teachers[1].ID, s.Teachers[2].ID}
	issued := dbtest.Must(s.Store.CreateInvitations(t.Context(), all, s.Admin.ID))(t)
	if len(issued) != 1 || issued[0].TeacherID != s.Teachers[2].ID {
		t.Errorf("issued %+v", issued)
	}
	if _, err := s.Store.CreateInvitations(t.Context(), []int64{999}, s.Admin.ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a teacher there is none of: %v", err)
	}
	var secrets int
	if err := s.Store.SessionDB().QueryRow(`SELECT count(*) FROM invitations WHERE token_hash = ?`, issued[0].Token).Scan(&secrets); err != nil || secrets != 0 {
		t.Errorf("the secret is stored: %d, %v", secrets, err)
	}
}

func TestEveryLINEUserEverLinkedIsRememberedWithWhomTheyWereLast(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Clock.Advance(time.Hour)
	must(s.Store.LinkTeacher(ctx, s.Teachers[0].ID, dbtest.LINEUserID(5))) // a new phone
	must(s.Store.UnlinkTeacher(ctx, s.Teachers[1].ID))
	must(s.Store.LinkTeacher(ctx, s.Teachers[2].ID, dbtest.LINEUserID(2))) // somebody else's old one
	must(s.Store.ArchiveTeacher(ctx, s.Teachers[0].ID))
	type known struct {
		teacher, user string
		stands, works bool
	}
	var got []known
	for _, l := range dbtest.Must(s.Store.Links(ctx))(t) {
		got = append(got, known{l.Teacher.Name, l.LINEUserID, l.UnlinkedAt.IsZero(), l.Teacher.Active()})
	}
	want := []known{
		{"髙橋 健太", dbtest.LINEUserID(2), true, true},
		{"佐藤 花子", dbtest.LINEUserID(1), false, false},
		{"佐藤 花子", dbtest.LINEUserID(5), true, false},
	}
	if len(got) != len(want) {
		t.Fatalf("remembered %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("remembered %+v, want %+v", got[i], want[i])
		}
	}
}

func TestANewLINEUserStartsAsReachable(t *testing.T) {
	t.Parallel()
	s := dbtest.NewSchool(t)
	ctx := t.Context()
	dbtest.Must(s.Store.NoteFriend(ctx, s.Teachers[0].LINEUserID, false, s.Store.Now()))(t)
	if err := s.Store.LinkTeacher(ctx, s.Teachers[0].ID, dbtest.LINEUserID(5)); err != nil {
		t.Fatal(err)
	}
	if v := dbtest.Must(s.Store.Teacher(ctx, s.Teachers[0].ID))(t); v.Blocked {
		t.Error("the block of the former LINE user stays")
	}
}
