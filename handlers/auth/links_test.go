package auth

import (
	"testing"
	"time"
)

func TestSignInLinkWorksOnce(t *testing.T) {
	t.Parallel()
	l := newLinks()
	token := l.issue(7, noon)
	for range 3 {
		if !l.valid(token, noon) {
			t.Fatal("looking at a link uses it up")
		}
	}
	if id, ok := l.use(token, noon); id != 7 || !ok {
		t.Fatalf("first use: admin %d, %v", id, ok)
	}
	if _, ok := l.use(token, noon); ok {
		t.Error("second use works")
	}
	if l.valid(token, noon) {
		t.Error("a spent link is shown as valid")
	}
}

func TestSignInLinkRunsOutAfterHalfAnHour(t *testing.T) {
	t.Parallel()
	l := newLinks()
	token := l.issue(7, noon)
	if !l.valid(token, noon.Add(30*time.Minute-1)) {
		t.Error("it runs out early")
	}
	if l.valid(token, noon.Add(30*time.Minute)) {
		t.Error("it is valid after 30 minutes")
	}
	if _, ok := l.use(token, noon.Add(30*time.Minute)); ok {
		t.Error("it can be used after 30 minutes")
	}
}

func TestUnknownTokenSignsNobodyIn(t *testing.T) {
	t.Parallel()
	l := newLinks()
	l.issue(7, noon)
	for _, token := range []string{"", "x"} {
		if _, ok := l.use(token, noon); ok || l.valid(token, noon) {
			t.Errorf("token %q is taken", token)
		}
	}
}

func TestLinksThatRanOutAreForgotten(t *testing.T) {
	t.Parallel()
	l := newLinks()
	for range 10 {
		l.issue(7, noon)
	}
	l.issue(7, noon.Add(time.Hour))
	if n := len(l.open); n != 1 {
		t.Errorf("%d links are kept, want 1", n)
	}
}
