package linesim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"shiftpost/jobs/line/linesim"
)

// recorder is a test that may fail.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(f string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(f, args...))
}
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...) }
func (r *recorder) Cleanup(func())               {}

func TestTheAssertionsCatchACarelessClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *school)
		want string // empty: nothing is wrong
	}{
		{"careful", func(t *testing.T, s *school) {
			key := uuid.NewString()
			s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Accept: true, Count: 1})
			s.push(t, textTo(s.group.ID, "x"), key)
			s.push(t, textTo(s.group.ID, "x"), key)
		}, ""},
		{"a new key for a retry", func(t *testing.T, s *school) {
			s.push(t, textTo(s.group.ID, "x"), uuid.NewString())
			s.push(t, textTo(s.group.ID, "x"), uuid.NewString())
		}, "twice"},
		{"a body built anew for a retry", func(t *testing.T, s *school) {
			key := uuid.NewString()
			s.push(t, textTo(s.group.ID, "x"), key)
			s.push(t, textTo(s.group.ID, "x")+" ", key)
		}, "another body"},
		{"no key on the first try", func(t *testing.T, s *school) { s.push(t, textTo(s.group.ID, "x"), "") }, "without a retry key"},
		{"messages nobody accounts for", func(t *testing.T, s *school) { s.SetUsed(1) }, "1 messages used, want 0"},
		{"no timeout", func(t *testing.T, s *school) {
			s.fault(t, linesim.Fault{Kind: linesim.FaultHang, Endpoint: "quota", Count: 1})
			client := s.newClient(time.Hour)
			if _, err := client.Quota(t.Context()); err == nil {
				t.Error("an answer came")
			}
		}, "still waiting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSchool(t, linesim.Options{HangLimit: 50 * time.Millisecond})
			c.do(t, s)
			var r recorder
			s.Assert(&r)
			got := strings.Join(r.failures, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) || len(r.failures) > 1 {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
