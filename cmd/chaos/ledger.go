package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
	"shiftpost/views/text"
)

// words are what the messages say, in the school's language.
var words = text.WithLanguage(context.Background(), text.Japanese)

// work is a shift as a message names it.
type work struct {
	Date      roster.Date
	Times     roster.TimeRange
	Classroom string
}

func (w work) said() string {
	return text.Date(words, w.Date) + " " + text.Range(words, w.Times) + " " + w.Classroom
}

// tells reports whether a message says that this is the shift.
func (w work) tells(message string) bool {
	return message == text.T(words, "messages.reminder_alt", "Shift", w.said()) || message == text.T(words, "messages.correction_alt", "Shift", w.said())
}

// callsOff reports whether a message says that a shift is not so.
func callsOff(message string) bool {
	return strings.HasPrefix(message, text.T(words, "messages.cancellation_alt", "Shift", ""))
}

// announces reports whether a message says that a version of a month was published.
func announces(message string, m roster.Month, number int) bool {
	return message == text.T(words, "messages.publication_alt", "Month", text.Month(words, m), "Number", number) ||
		message == text.T(words, "messages.publication_alt_update", "Month", text.Month(words, m), "Number", number)
}

// person is a teacher, who has one shift at most in a run, and what was acknowledged about it.
type person struct {
	teacherID, classroomID, groupID int64
	lineID                          string
	classroom                       string
	day                             roster.Date

	shiftID    int64 // 0 before the first
	editNumber int64
	is         *roster.TimeRange // nil: no shift
	was        roster.TimeRange  // what it was before the last edit; zero: nothing
	wentBack   map[roster.TimeRange]bool
	ended      bool // the shift was deleted or given away: nothing more happens to them
}

// board is a group's month and the newest version of it that was acknowledged.
type board struct {
	groupID, teacherID, classroomID int64
	lineID                          string
	month                           roster.Month
	shifts                          int // entered so far
	number                          int // 0: never published
}

// push is a request that LINE got.
type push struct {
	at       time.Time // on the clock of the run
	to, body string
	says     string
	accepted bool
}

// pushLog collects what LINE got, of which the simulator keeps only the newest.
type pushLog struct {
	mu   sync.Mutex
	last int64 // number of the newest one collected
	all  []push
}

// collect takes over what is new. It must be called more often than the simulator forgets.
func (l *pushLog) collect(sim *linesim.Simulator) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := sim.Requests()
	if len(kept) > 0 && l.last != 0 && kept[0].N > l.last {
		return errors.New("the simulator forgot requests before they were counted")
	}
	for _, r := range kept {
		if r.N <= l.last {
			continue
		}
		l.last = r.N
		if r.Endpoint != "push" {
			continue
		}
		m, err := said(r.Body)
		if err != nil {
			return err
		}
		l.all = append(l.all, push{r.At, r.To, string(r.Body), m, r.Accepted})
	}
	return nil
}

// said returns the alternative text of a message, which names all that it tells.
func said(body []byte) (string, error) {
	var b struct {
		Messages []struct {
			AltText string `json:"altText"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &b); err != nil || len(b.Messages) != 1 {
		return "", fmt.Errorf("LINE accepted what is no single message: %.200s", body)
	}
	return b.Messages[0].AltText, nil
}

// rightAgain reports whether the words of an accepted push could be said anew later on: the shift was the same again,
// and meanwhile LINE got other words for that person, or a process was killed that may have meant to send some.
func (p *person) rightAgain(first, second, between push, kills []time.Time) bool {
	if p == nil {
		return false // a group: each version is announced once
	}
	back := false
	for t := range p.wentBack {
		back = back || (work{p.day, t, p.classroom}).tells(second.says)
	}
	killed := slices.ContainsFunc(kills, func(k time.Time) bool { return !k.Before(first.at) && !k.After(second.at) })
	return back && (killed || between.body != second.body)
}

// verdict is what came of a run.
type verdict struct {
	delivered int // different messages to different recipients
	lost      []string
	doubled   []string            // one for each time that LINE accepted what it had accepted before
	failed    map[roster.Code]int // as shown
	canceled  map[roster.Code]int // as shown
}

// judge compares what was acknowledged with what LINE accepted and with what is shown to have failed. Something is lost
// when it was acknowledged, is still so, is not the last word that its recipient got, and is not shown as failed. It is
// doubled when LINE accepted the same words for the same recipient again, unless they were right again.
func judge(people []*person, boards []*board, pushes []push, kills []time.Time, list []shownDelivery) verdict {
	v := verdict{failed: map[roster.Code]int{}, canceled: map[roster.Code]int{}}
	byLINEID := map[string]*person{}
	for _, p := range people {
		byLINEID[p.lineID] = p
	}
	said := map[string][]string{}
	seen := map[[2]string]push{} // to and body
	between := map[string]push{} // the last one of each recipient
	for _, x := range pushes {
		k := [2]string{x.to, x.body}
		before, again := seen[k]
		if x.accepted {
			said[x.to] = append(said[x.to], x.says)
			if again && !byLINEID[x.to].rightAgain(before, x, between[x.to], kills) {
				v.doubled = append(v.doubled, fmt.Sprintf("%s got again: %q", x.to, x.says))
			}
			seen[k] = x
		}
		between[x.to] = x
	}
	v.delivered = len(seen)

	type shift struct{ teacherID, shiftID int64 }
	type version struct {
		groupID int64
		month   string
		number  int
	}
	newestOfShift, newestOfVersion := map[shift]shownDelivery{}, map[version]shownDelivery{}
	for _, d := range list {
		switch d.State {
		case roster.Failed:
			v.failed[d.Code]++
		case roster.Canceled:
			v.canceled[d.Code]++
		}
		if d.GroupID != 0 {
			k := version{d.GroupID, d.Month, d.Number}
			if d.ID > newestOfVersion[k].ID {
				newestOfVersion[k] = d
			}
			continue
		}
		k := shift{d.TeacherID, d.ShiftID}
		if d.ID > newestOfShift[k].ID {
			newestOfShift[k] = d
		}
	}

	for _, p := range people {
		if p.shiftID == 0 {
			continue
		}
		heard := said[p.lineID]
		last := ""
		if len(heard) > 0 {
			last = heard[len(heard)-1]
		}
		knows := last == "" || callsOff(last)
		truth := "no shift"
		if p.is != nil {
			w := work{p.day, *p.is, p.classroom}
			knows, truth = w.tells(last), w.said()
		}
		if d := newestOfShift[shift{p.teacherID, p.shiftID}]; !knows && !shownAsFailed(d) {
			v.lost = append(v.lost, fmt.Sprintf("teacher %d: %s; last told %q; delivery %d is %s %s", p.teacherID, truth, last, d.ID, d.State, d.Code))
		}
	}
	for _, b := range boards {
		if b.number == 0 {
			continue
		}
		last := 0
		for _, m := range said[b.lineID] {
			for n := 1; n <= b.number; n++ {
				if announces(m, b.month, n) {
					last = n
				}
			}
		}
		if d := newestOfVersion[version{b.groupID, b.month.String(), b.number}]; last != b.number && !shownAsFailed(d) {
			v.lost = append(v.lost, fmt.Sprintf("group %d: version %d of %s; last told version %d; delivery %d is %s %s", b.groupID, b.number, b.month, last, d.ID, d.State, d.Code))
		}
	}
	return v
}

// shownAsFailed reports whether an admin who looks at the list sees that a message did not go, and why.
func shownAsFailed(d shownDelivery) bool {
	return d.Code != "" && (d.State == roster.Failed || (d.State == roster.Canceled && d.Code == roster.CodeShiftStarted))
}

// counts writes codes with their numbers, the most frequent first.
func counts(of map[roster.Code]int) string {
	if len(of) == 0 {
		return "none"
	}
	codes := slices.Collect(maps.Keys(of))
	slices.SortFunc(codes, func(a, b roster.Code) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(string(a), string(b))
	})
	var parts []string
	for _, c := range codes {
		parts = append(parts, fmt.Sprintf("%s %d", c, of[c]))
	}
	return strings.Join(parts, " · ")
}
