package linesim_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"shiftpost/jobs/line/linesim"
)

func TestWhatWasAcceptedSurvivesAKilledProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "line.json")
	s := newSchool(t, linesim.Options{StateFile: file})
	key, body := uuid.NewString(), textTo(s.group.ID, "x")
	s.fault(t, linesim.Fault{Kind: linesim.FaultCut, Accept: true, Count: 1})
	if _, err := s.client.Push(context.Background(), []byte(body), key); err == nil {
		t.Fatal("the connection was not cut")
	}
	s.SetUsed(10)
	token := s.IDToken(s.users[0].ID, nil)
	s.IssueToken("second", noon.Add(time.Hour))

	// The first one is not closed: a second one reads what the first had on disk when it answered.
	clock := clockwork.NewFakeClockAt(noon.Add(time.Minute))
	again := &school{Simulator: linesim.Start(t, linesim.Options{StateFile: file, Clock: clock}), clock: clock, group: s.group}
	again.client = again.newClient(time.Minute)
	ans, err := again.client.Push(context.Background(), []byte(body), key)
	if err != nil || ans.Status != 409 || ans.AcceptedRequestID != s.Accepted()[0].RequestID {
		t.Errorf("retry: %+v, %v", ans, err)
	}
	if id, err := again.client.VerifyIDToken(context.Background(), token, s.Login().ChannelID); err != nil || id.UserID != s.users[0].ID {
		t.Errorf("token of before: %+v, %v", id, err)
	}
	if a := again.call(t, "GET", "/v2/bot/info", "", "Authorization", "Bearer second"); a.status != 200 {
		t.Errorf("channel token of before: %d", a.status)
	}
	if _, used := again.Quota(); used != 10 {
		t.Errorf("%d used", used)
	}
	if !reflect.DeepEqual(again.Users(), s.Users()) || !reflect.DeepEqual(again.Groups(), s.Groups()) {
		t.Error("other people")
	}
	if n := len(again.Messages(s.group.ID)); n != 1 {
		t.Errorf("%d messages", n)
	}
	if f := again.Faults(); len(f) != 1 || f[0].Taken != 1 {
		t.Errorf("%+v", f)
	}
	again.AssertRetriesIdentical(t)
	// Seeding the same people once more changes nothing.
	again.AddUser(linesim.User{ID: s.users[0].ID, Name: "だれか"})
	again.AddGroup(linesim.Group{ID: s.group.ID})
	if !reflect.DeepEqual(again.Users(), s.Users()) || !reflect.DeepEqual(again.Groups(), s.Groups()) {
		t.Error("seeding twice made other people")
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

func TestABrokenStateFileIsAnErrorAndIsLeftAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "line.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := linesim.New(linesim.Options{StateFile: file}); err == nil || !strings.Contains(err.Error(), "line.json") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "{" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestAResetForgetsEverything(t *testing.T) {
	t.Parallel()
	s := newSchool(t, linesim.Options{})
	token := s.IDToken(s.users[0].ID, nil)
	key := uuid.NewString()
	s.push(t, textTo(s.group.ID, "x"), key)
	s.fault(t, linesim.Fault{Kind: linesim.FaultDown, Endpoint: "push"})
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if len(s.Users())+len(s.Groups())+len(s.Accepted())+len(s.Requests())+len(s.Faults()) != 0 {
		t.Error("something is left")
	}
	if _, err := s.client.VerifyIDToken(context.Background(), token, s.Login().ChannelID); err == nil {
		t.Error("the token of before is still good")
	}
	s.AddGroup(s.group)
	if a := s.push(t, textTo(s.group.ID, "x"), key); a.status != 200 {
		t.Errorf("the key of before: %d", a.status)
	}
}
