package auth

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2027, 1, 8, 3, 0, 0, 0, time.UTC)

func TestFiveWrongTriesMeanFifteenMinutesOfWaiting(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	now := noon
	for want := 4; want >= 0; want-- {
		if left, until := th.take("a", now); left != want || !until.IsZero() {
			t.Fatalf("take: %d left, until %v, want %d left", left, until, want)
		}
		now = now.Add(time.Minute)
	}
	last := now.Add(-time.Minute)
	if left, until := th.take("a", now); left != 0 || !until.Equal(last.Add(15*time.Minute)) {
		t.Fatalf("sixth try: %d left, until %v, want until %v", left, until, last.Add(15*time.Minute))
	}
	if left, until := th.take("b", now); left != 4 || !until.IsZero() {
		t.Errorf("another pair: %d left, until %v, want not to be affected", left, until)
	}
	if _, until := th.take("a", last.Add(15*time.Minute-time.Millisecond)); until.IsZero() {
		t.Error("a try is taken before the wait is over")
	}
	if left, until := th.take("a", last.Add(15*time.Minute)); left != 4 || !until.IsZero() {
		t.Errorf("after the wait: %d left, until %v, want 4 left", left, until)
	}
}

func TestRightPasswordForgivesTheWrongOnes(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	for range 4 {
		th.take("a", noon)
	}
	th.forgive("a")
	if left, _ := th.take("a", noon); left != 4 {
		t.Errorf("%d tries left, want 4", left)
	}
}

func TestManyTriesAtOnceAreNotMoreThanFive(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	var wg sync.WaitGroup
	taken := make(chan bool, 100)
	for range 100 {
		wg.Go(func() {
			_, until := th.take("a", noon)
			taken <- until.IsZero()
		})
	}
	wg.Wait()
	close(taken)
	n := 0
	for ok := range taken {
		if ok {
			n++
		}
	}
	if n != 5 {
		t.Errorf("%d tries were taken, want 5", n)
	}
}

func TestStrangersCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	th := newThrottle()
	for i := range maxTracked + 50 {
		th.take(fmt.Sprint(i), noon.Add(time.Duration(i)*time.Millisecond))
	}
	if n := len(th.tries); n > maxTracked {
		t.Errorf("%d pairs are kept, want at most %d", n, maxTracked)
	}
	th.take("late", noon.Add(time.Hour))
	if n := len(th.tries); n != 1 {
		t.Errorf("%d pairs are kept an hour later, want 1", n)
	}
}
