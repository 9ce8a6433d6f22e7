package jobs_test

import (
	"errors"
	"testing"
	"time"

	"shiftpost/db"
	"shiftpost/db/dbtest"
	"shiftpost/db/roster"
	"shiftpost/jobs/line/linesim"
)

func TestAChangeAfterWhatWasSurelyToldIsCorrectedFromBeforeToAfter(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.at(t, "15:50")
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(8, "18:00–21:30"))
	if got := s.last(t, 1); !contains(got, "17:00–21:30 → 18:00–21:30") {
		t.Errorf("the correction does not say before and after:\n%s", got)
	}
	// The correction inside the window is the reminder too.
	s.at(t, "16:00")
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction sent")
	s.sim.Assert(t)
}

func TestWhatWasMaybeToldIsCorrectedWithoutABefore(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{false, true} {
		s := newStory(t)
		x := s.Confirm(t, 0, 8, "17:00-21:30")
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: accepted, Count: 1})
		s.at(t, "14:45")
		s.remind(t)
		s.step(t)
		s.change(t, x.ID, 0, 8, "18:00-21:30")
		s.pastUndo(t)
		s.wantNotices(t, x.ID, "reminder canceled SHIFT_VERSION_CHANGED", "correction sent")
		if got := s.last(t, 1); !contains(got, "シフトの変更") || !contains(got, "18:00–21:30") || contains(got, "→") || contains(got, "17:00") {
			t.Errorf("accepted %v: the correction says\n%s", accepted, got)
		}
		s.sim.Assert(t)
	}
}

func TestWhatWasRefusedWasNotTold(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.at(t, "15:45")
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder failed HTTP_400", "reminder sent")
	s.wantChat(t, 1, reminds(8, "18:00–21:30"))
}

func TestARefusedTryAfterOneWithoutAnAnswerLeavesItMaybeTold(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	s.Clock.Advance(2 * time.Minute)
	s.step(t)
	s.move(t, x.ID, roster.ShiftDeleted)
	s.pastUndo(t)
	s.wantNotices(t, x.ID, "reminder failed HTTP_400", "cancellation sent")
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
}

func TestAnAcceptedNoticeReplacesAllThatWasToldBefore(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	s.pastUndo(t)
	if got := s.last(t, 1); contains(got, "→") {
		t.Errorf("with a maybe told state the correction says before and after:\n%s", got)
	}
	s.change(t, x.ID, 0, 8, "20:00-21:30")
	s.pastUndo(t)
	if got := s.last(t, 1); !contains(got, "19:00–21:30 → 20:00–21:30") {
		t.Errorf("after an accepted one the correction says\n%s", got)
	}
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_VERSION_CHANGED", "correction sent", "correction sent")
}

func TestAPublicationToTheGroupTellsNobody(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 12, "17:00-21:30")
	s.Publish(t)
	s.step(t)
	s.change(t, x.ID, 0, 12, "18:00-21:30")
	s.move(t, x.ID, roster.ShiftDeleted)
	s.pastUndo(t)
	s.wantNotices(t, x.ID)
}

func TestTheComparisonRunsWhenAnAttemptIsClosedWithAnyOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcome roster.Outcome
		notices []string
		says    string // the last message
		not     string
	}{
		{roster.Accepted, []string{"reminder sent", "correction sent"}, "17:00–21:30 → 18:00–21:30", ""},
		{roster.Unknown, []string{"reminder canceled SHIFT_VERSION_CHANGED", "correction sent"}, "シフトの変更", "→"},
		{roster.Interrupted, []string{"reminder canceled SHIFT_VERSION_CHANGED", "correction sent"}, "シフトの変更", "→"},
		{roster.Refused, []string{"reminder failed HTTP_400", "reminder sent"}, "出勤のお知らせ", "→"},
	} {
		t.Run(string(c.outcome), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			x := s.Confirm(t, 0, 8, "17:00-21:30")
			s.at(t, "15:50")
			s.remind(t)
			try := s.begin(t)
			s.change(t, x.ID, 0, 8, "18:00-21:30")
			if c.outcome == roster.Interrupted {
				next := dbtest.Must(db.Open(t.Context(), db.Options{Dir: s.Store.Dir(), Clock: s.Clock, Location: dbtest.Tokyo, Logger: quiet()}))(t)
				defer next.Close()
				dbtest.Must(next.RecoverOrphans(t.Context()))(t)
			} else {
				s.end(t, try, c.outcome)
			}
			s.pastUndo(t)
			s.wantNotices(t, x.ID, c.notices...)
			if got := s.last(t, 1); !contains(got, c.says) || !contains(got, "18:00–21:30") || (c.not != "" && contains(got, c.not)) {
				t.Errorf("the last message says\n%s", got)
			}
			s.sim.Assert(t)
		})
	}
}

func TestAnInterruptedNoticeIsComparedEvenWhilePushesAreHeld(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "15:00")
	s.remind(t)
	s.begin(t)
	s.sql(t, `INSERT INTO channel_holds (cause, since, notices) VALUES ('forbidden', 0, 1)`)
	s.move(t, x.ID, roster.ShiftDeleted)
	s.Clock.Advance(time.Minute) // the lease ran out
	s.step(t)
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_DELETED", "cancellation queued")
}

func TestAnEditWhileARequestIsInFlightKeepsItsUndoWindow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "15:00")
	s.remind(t)
	try := s.begin(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.Clock.Advance(4 * time.Second)
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	s.Clock.Advance(4 * time.Second)
	s.wantNotices(t, x.ID, "reminder processing")
	s.end(t, try, roster.Accepted)
	all := s.wantNotices(t, x.ID, "reminder sent", "correction queued")
	if wait := all[1].DueAt.Sub(s.Store.Now()); wait != 22*time.Second {
		t.Errorf("the correction waits %s, want the rest of 30 s from the first edit", wait)
	}
	// And undoing it in time leaves nothing to say.
	s.change(t, x.ID, 0, 8, "17:00-21:30")
	s.pastUndo(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled NO_LONGER_NEEDED")
}

func TestAnEditUndoneWhileTheRequestIsInFlightNeedsNothing(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "15:00")
	s.remind(t)
	try := s.begin(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.change(t, x.ID, 0, 8, "17:00-21:30")
	s.end(t, try, roster.Accepted)
	s.pastUndo(t)
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent")
}

func TestTheComparisonRunsInTheSweepForEveryToldShiftStillAhead(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.sql(t, `UPDATE shifts SET date = '2027-01-15', version = version + 1 WHERE id = ?`, x.ID) // as if another program did
	s.remind(t)
	s.step(t) // no edit of ours: no undo window
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(15, "17:00–21:30"))
	s.sql(t, `UPDATE shifts SET state = 'draft', version = version + 1 WHERE id = ?`, x.ID)
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction sent", "cancellation sent")
	s.sql(t, `UPDATE shifts SET state = 'confirmed', version = version + 1 WHERE id = ?`, x.ID)
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction sent", "cancellation sent", "correction sent")
	if got := s.last(t, 1); !contains(got, "シフトの変更") || contains(got, "→") {
		t.Errorf("what was called off and is theirs again is told by\n%s", got)
	}
}

func TestAChangeThatWasChangedBackInTimeIsNotTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(*testing.T, *story, roster.Shift)
	}{
		{"the time", func(t *testing.T, s *story, x roster.Shift) {
			s.change(t, x.ID, 0, 8, "18:00-21:30")
			s.Clock.Advance(29 * time.Second)
			s.change(t, x.ID, 0, 8, "17:00-21:30")
		}},
		{"given away and back", func(t *testing.T, s *story, x roster.Shift) {
			s.change(t, x.ID, 2, 8, "17:00-21:30")
			s.change(t, x.ID, 0, 8, "17:00-21:30")
		}},
		{"a draft and confirmed again", func(t *testing.T, s *story, x roster.Shift) {
			s.move(t, x.ID, roster.ShiftDraft)
			s.move(t, x.ID, roster.ShiftConfirmed)
		}},
		{"deleted and entered anew", func(t *testing.T, s *story, x roster.Shift) {
			s.move(t, x.ID, roster.ShiftDeleted)
			s.Confirm(t, 0, 8, "17:00-21:30")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			x := s.told(t)
			c.do(t, s, x)
			s.pastUndo(t)
			s.remind(t)
			s.step(t)
			for _, d := range s.notices(t, x.ID)[1:] {
				if d.TeacherID == s.Teachers[0].ID && (d.State != roster.Canceled || d.Code != roster.CodeNoLongerNeeded) {
					t.Errorf("the %s is %s %s", d.Kind, d.State, d.Code)
				}
			}
			s.wantChat(t, 1, reminds(8, "17:00–21:30"))
		})
	}
}

func TestAChangeBackAfterTheCorrectionIsCorrectedToo(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.change(t, x.ID, 0, 8, "17:00-21:30")
	s.pastUndo(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(8, "18:00–21:30"), corrects(8, "17:00–21:30"))
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction sent", "correction sent")
}

func TestTheNoteAloneIsNoChange(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	e := s.Edit(t, 0, 8, "17:00-21:30")
	e.Note = "鍵当番"
	now := dbtest.Must(s.Store.ChangeShift(t.Context(), x.ID, x.EditNumber, e))(t)
	if now.Version != x.Version {
		t.Errorf("the note made version %d of %d", now.Version, x.Version)
	}
	s.pastUndo(t)
	s.wantNotices(t, x.ID, "reminder sent")
}

func TestAShiftMovedToAnotherDayIsCorrectedAtOnceAndRemindedOfThen(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 12, "10:00-12:00")
	s.pastUndo(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(12, "10:00–12:00"))
	if got := s.last(t, 1); !contains(got, "2027年1月8日(金) → 2027年1月12日(火)") || !contains(got, "17:00–21:30 → 10:00–12:00") {
		t.Errorf("the correction says\n%s", got)
	}
	s.at(t, "17:30")
	s.remind(t)
	s.Clock.Advance(dbtest.Must(time.ParseInLocation("2006-01-02 15:04", "2027-01-12 07:45", dbtest.Tokyo))(t).Sub(s.Clock.Now()))
	s.remind(t)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(12, "10:00–12:00"), reminds(12, "10:00–12:00"))
	s.sim.Assert(t)
}

func TestAShiftDeletedAndEnteredAnewIsStillTrueAndCorrectedWhenTheNewOneChanges(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.move(t, x.ID, roster.ShiftDeleted)
	y := s.Confirm(t, 0, 8, "17:00-21:30")
	s.pastUndo(t)
	s.remind(t)
	s.step(t)
	s.wantNotices(t, y.ID) // no second reminder: they know
	s.change(t, y.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.wantNotices(t, x.ID, "reminder sent", "cancellation canceled NO_LONGER_NEEDED", "cancellation sent")
	s.at(t, "15:45")
	s.remind(t)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"), reminds(8, "18:00–21:30"))
}

func TestAShiftWhoseToldPlaceAnotherOneTakesIsRemindedOfAtOnce(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 8, "16:00-17:00") // its correction waits
	y := s.Confirm(t, 0, 8, "17:00-21:30") // what was told is so again, but of another shift
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled NO_LONGER_NEEDED", "reminder sent")
	// The reminder of the first took the place of what was told of it, so that the other one is told for itself.
	s.wantNotices(t, y.ID, "reminder sent")
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), reminds(8, "16:00–17:00"), reminds(8, "17:00–21:30"))
}

func TestAShiftEnteredAnewIsRemindedOfWhenTheOldNoticeDidNotArrive(t *testing.T) {
	t.Parallel()
	for _, outcome := range []roster.Outcome{roster.Refused, roster.Unknown, roster.Accepted} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			x := s.Confirm(t, 0, 8, "17:00-21:30")
			s.at(t, "15:00")
			s.remind(t)
			try := s.begin(t)
			s.move(t, x.ID, roster.ShiftDeleted)
			y := s.Confirm(t, 0, 8, "17:00-21:30")
			s.wantNotices(t, y.ID)
			if outcome == roster.Unknown {
				// It did arrive, but nobody knows.
				if _, err := newClient(s.School, s.sim).Push(t.Context(), try.Body, try.RetryKey); err != nil {
					t.Fatal(err)
				}
			}
			s.end(t, try, outcome)
			s.step(t)
			s.pastUndo(t)
			s.wantChat(t, 1, reminds(8, "17:00–21:30"))
			want := []string{"reminder sent"}
			if outcome == roster.Accepted {
				want = nil
			}
			s.wantNotices(t, y.ID, want...)
			s.sim.Assert(t)
		})
	}
}

func TestAShiftGivenToSomebodyElseIsCanceledForTheFirstAndRemindedToTheSecond(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 1, 8, "17:00-21:30")
	s.step(t)
	s.wantChat(t, 2, reminds(8, "17:00–21:30")) // a reminder waits for nothing
	s.wantChat(t, 1, reminds(8, "17:00–21:30"))
	s.pastUndo(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
	// And back: for the first it is news, for the second it is off.
	s.change(t, x.ID, 0, 8, "17:00-21:30")
	s.pastUndo(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"), corrects(8, "17:00–21:30"))
	s.wantChat(t, 2, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
	s.remind(t)
	s.step(t)
	s.wantChat(t, 2, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
	s.sim.AssertRetriesIdentical(t)
}

func TestADeletedOrUnconfirmedShiftIsCanceled(t *testing.T) {
	t.Parallel()
	for _, to := range []roster.ShiftState{roster.ShiftDeleted, roster.ShiftDraft} {
		s := newStory(t)
		x := s.told(t)
		s.move(t, x.ID, to)
		s.pastUndo(t)
		s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
		s.remind(t)
		s.step(t)
		s.wantNotices(t, x.ID, "reminder sent", "cancellation sent")
		s.sim.Assert(t)
	}
}

func TestACancellationThatCannotBeSureNamesEveryShiftThatIsGoneAndNoOther(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.Confirm(t, 0, 8, "10:00-12:00") // stays, on the same day
	x := s.told(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.move(t, x.ID, roster.ShiftDeleted)
	s.pastUndo(t)
	got := s.last(t, 1)
	for _, want := range []string{"シフトの取消：" + days[8] + " 17:00–21:30 駅前教室・" + days[8] + " 18:00–21:30 駅前教室", "上記の出勤はありません。"} {
		if !contains(got, want) {
			t.Errorf("the cancellation does not say %q:\n%s", want, got)
		}
	}
	if contains(got, "10:00") {
		t.Errorf("the cancellation names a shift that stays:\n%s", got)
	}
}

func TestForANewLINEIDNothingHasBeenToldYet(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.link(t, 0, 3)
	s.step(t)
	s.wantChat(t, 3, reminds(8, "17:00–21:30"))
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.wantChat(t, 3, reminds(8, "17:00–21:30"), corrects(8, "18:00–21:30"))
	s.wantChat(t, 1, reminds(8, "17:00–21:30")) // linked to nobody: not compared
	// The old one is linked again: what it was told is compared at once.
	s.link(t, 0, 1)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(8, "18:00–21:30"))
}

func TestALINEUserIsComparedAsTheTeacherTheyAreLinkedToNow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.told(t)
	s.unlink(t, 0)
	s.link(t, 2, 1) // the same phone, as 髙橋 now
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
}

func TestUnlinkingCallsOffWhatWaitsWithItsReason(t *testing.T) {
	t.Parallel()
	for _, relink := range []bool{false, true} {
		s := newStory(t)
		x, y := s.told(t), s.Confirm(t, 1, 8, "17:00-21:30")
		s.step(t)
		s.change(t, x.ID, 0, 8, "18:00-21:30")
		code := "TEACHER_UNLINKED"
		if relink {
			s.link(t, 0, 3)
			code = "TEACHER_RELINKED"
		} else {
			s.unlink(t, 0)
		}
		all := s.notices(t, x.ID)
		if all[1].State != roster.Canceled || string(all[1].Code) != code {
			t.Errorf("what waited is %s %s, want canceled %s", all[1].State, all[1].Code, code)
		}
		s.wantNotices(t, y.ID, "reminder sent")
	}
}

func TestANoticeInFlightToAnUnlinkedUserFallsAtItsNextCheck(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "15:00")
	s.remind(t)
	try := s.begin(t)
	s.unlink(t, 0)
	s.wantNotices(t, x.ID, "reminder processing", "reminder canceled TEACHER_UNLINKED")
	s.end(t, try, roster.Unknown)
	s.Clock.Advance(2 * time.Minute)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder canceled TEACHER_UNLINKED", "reminder canceled TEACHER_UNLINKED")
	s.wantChat(t, 1)
}

func TestNoticesSwitchedOffAreCalledOffAndComparedWhenSwitchedOn(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.switchNotices(t, 0, false)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled LINE_DISABLED")
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	s.at(t, "17:00") // past what was told
	s.remind(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled LINE_DISABLED")
	s.switchNotices(t, 0, true)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(8, "19:00–21:30"))
	if got := s.last(t, 1); !contains(got, "17:00–21:30 → 19:00–21:30") {
		t.Errorf("the correction says\n%s", got)
	}
}

func TestNothingIsSaidWhenWhatChangedWhileSwitchedOffWasChangedBack(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.switchNotices(t, 0, false)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.change(t, x.ID, 0, 8, "17:00-21:30")
	s.switchNotices(t, 0, true)
	s.remind(t)
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"))
}

func TestACanceledNoticeThatMayHaveArrivedIsTakenOverWithKeyAndBytes(t *testing.T) {
	t.Parallel()
	for _, accepted := range []bool{true, false} {
		s := newStory(t)
		x := s.Confirm(t, 0, 8, "17:00-21:30")
		s.fault(t, linesim.Fault{Kind: linesim.FaultHang, Accept: accepted, Count: 1})
		s.at(t, "14:45")
		s.remind(t)
		s.step(t)
		s.change(t, x.ID, 0, 8, "18:00-21:30")
		s.change(t, x.ID, 0, 8, "17:00-21:30")
		s.step(t)
		all := s.wantNotices(t, x.ID, "reminder canceled SHIFT_VERSION_CHANGED", "correction canceled NO_LONGER_NEEDED", "reminder sent")
		first, last := s.delivery(t, all[0].ID), s.delivery(t, all[2].ID)
		if first.RetryKey != last.RetryKey || string(first.Body) != string(last.Body) || !first.FirstTryAt.Equal(last.FirstTryAt) {
			t.Error("the new notice has another key, other bytes or another first try")
		}
		want := 200
		if accepted {
			want = 409
		}
		if got := last.Attempts[0].Status; got != want {
			t.Errorf("LINE answered %d, want %d", got, want)
		}
		s.wantChat(t, 1, reminds(8, "17:00–21:30"))
		s.sim.Assert(t)
	}
}

func TestNothingIsTakenOverWhenSomethingElseWasTriedSinceOrTheKeyIsGone(t *testing.T) {
	t.Parallel()
	t.Run("something else was tried", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		x := s.told(t)
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 2})
		for _, times := range []string{"18:00-21:30", "19:00-21:30"} {
			s.change(t, x.ID, 0, 8, times)
			s.pastUndo(t)
		}
		s.change(t, x.ID, 0, 8, "18:00-21:30") // as the first correction said
		s.pastUndo(t)
		all := s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_VERSION_CHANGED", "correction canceled SHIFT_VERSION_CHANGED", "correction sent")
		if all[3].RetryKey == all[1].RetryKey {
			t.Error("an older notice was taken over although another was tried since")
		}
	})
	t.Run("the key's life is over", func(t *testing.T) {
		t.Parallel()
		s := newStory(t)
		x := s.told(t)
		s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
		s.change(t, x.ID, 0, 12, "17:00-21:30")
		s.pastUndo(t)
		s.change(t, x.ID, 0, 15, "17:00-21:30")
		s.Clock.Advance(10 * time.Second)
		s.sql(t, `UPDATE jobs SET run_at = run_at + 86400000 WHERE state = 'ready'`) // the correction of the second move waits
		s.Clock.Advance(24 * time.Hour)
		s.change(t, x.ID, 0, 12, "17:00-21:30")
		s.pastUndo(t)
		all := s.notices(t, x.ID)
		if last := all[len(all)-1]; last.State != roster.Sent || last.RetryKey == all[1].RetryKey {
			t.Errorf("the last notice is %s with the old key: %v", last.State, last.RetryKey == all[1].RetryKey)
		}
	})
}

func TestTheUndoWindowRunsFromTheFirstEditAndFurtherEditsReaimIt(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.Clock.Advance(20 * time.Second)
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	all := s.wantNotices(t, x.ID, "reminder sent", "correction queued")
	if all[1].ShiftVersion != x.Version+2 {
		t.Errorf("the correction is about version %d, want %d", all[1].ShiftVersion, x.Version+2)
	}
	s.move(t, x.ID, roster.ShiftDeleted)
	s.wantNotices(t, x.ID, "reminder sent", "cancellation queued")
	s.Clock.Advance(10*time.Second - time.Millisecond)
	if s.step(t) != 0 {
		t.Fatal("the notice did not wait")
	}
	s.Clock.Advance(time.Millisecond)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "cancellation sent")
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), cancels(8, "17:00–21:30"))
}

func TestTheUndoWindowIsSkippedWhenTheDeadlineIsNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clock string
		waits bool
	}{{"16:50:00", true}, {"16:50:00.001", false}} {
		s := newStory(t)
		x := s.told(t)
		s.at(t, c.clock)
		s.change(t, x.ID, 0, 8, "18:00-21:30")
		if waits := s.step(t) == 0; waits != c.waits {
			t.Errorf("at %s the correction waits: %v", c.clock, waits)
		}
	}
	// A further edit that brings the deadline near ends the wait too.
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 9, "17:00-21:30")
	s.pastUndo(t)
	s.at(t, "16:00")
	s.change(t, x.ID, 0, 9, "18:00-21:30")
	if s.step(t) != 0 {
		t.Fatal("the correction did not wait")
	}
	s.change(t, x.ID, 0, 8, "16:05-21:30")
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(9, "17:00–21:30"), corrects(8, "16:05–21:30"))
}

func TestTheDeadlineIsTheEarliestStartStillAhead(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	all := s.wantNotices(t, x.ID, "reminder sent", "correction queued")
	if want := x.Start(dbtest.Tokyo); !all[1].DeadlineAt.Equal(want) {
		t.Errorf("the deadline is %s, want the told start %s", all[1].DeadlineAt, want)
	}
	y := s.change(t, x.ID, 0, 8, "16:00-21:30")
	all = s.notices(t, x.ID)
	if want := y.Start(dbtest.Tokyo); !all[1].DeadlineAt.Equal(want) {
		t.Errorf("the deadline is %s, want the present start %s", all[1].DeadlineAt, want)
	}
	s.at(t, "16:30") // only the told start is ahead
	s.recover(t)
	all = s.notices(t, x.ID)
	if want := x.Start(dbtest.Tokyo); all[1].Code != roster.CodeShiftStarted || !all[2].DeadlineAt.Equal(want) {
		t.Errorf("after the present start the notices are %v", all)
	}
}

func TestANoticeNotAcceptedByItsDeadlineEndsAndTheNextOneIsMade(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.at(t, "16:59:40")
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Accept: true, Count: 1})
	id := dbtest.Must(s.sim.AddFault(linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Endpoint: "push"}))(t)
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	s.step(t)
	for s.Store.Now().Before(x.Start(dbtest.Tokyo)) {
		s.Clock.Advance(10 * time.Second)
		s.step(t)
	}
	all := s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_STARTED", "correction queued HTTP_500")
	if !s.delivery(t, all[1].ID).MayHaveArrived {
		t.Error("the page does not say that it may have arrived")
	}
	if want := all[2].DeadlineAt; want.Sub(x.Start(dbtest.Tokyo)) != 2*time.Hour {
		t.Errorf("the next one's deadline is %s, want the present start", want)
	}
	s.sim.RemoveFault(id)
	s.Clock.Advance(time.Hour)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_STARTED", "correction sent")
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(8, "19:00–21:30"))
	s.sim.Assert(t)
}

func TestACorrectionThatWaitedPastTheToldStartEndsAndTheNextOneIsMadeWhoeverLooksFirst(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(*story, roster.Shift){
		"the runner":         func(s *story, _ roster.Shift) { s.step(t) },
		"the reminder sweep": func(s *story, _ roster.Shift) { s.remind(t) },
		"the recovery sweep": func(s *story, _ roster.Shift) { s.recover(t) },
		"an edit":            func(s *story, x roster.Shift) { s.change(t, x.ID, 0, 8, "20:00-21:30") },
	} {
		s := newStory(t)
		x := s.told(t)
		s.change(t, x.ID, 0, 8, "19:30-21:30")
		s.at(t, "17:00")
		look(s, x)
		all := s.notices(t, x.ID)
		if len(all) != 3 || all[1].State != roster.Canceled || (all[1].Code != roster.CodeShiftStarted && name != "an edit") || all[2].Kind != roster.ShiftCorrection {
			t.Errorf("%s: the notices are %v", name, all)
			continue
		}
		s.pastUndo(t)
		if got := s.last(t, 1); !contains(got, "シフトの変更") {
			t.Errorf("%s: the last message is\n%s", name, got)
		}
	}
}

func TestAWaitingNoticePastItsDeadlineEndsWithTheReasonTheCheckGives(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		times string
		want  string
	}{{"18:00-21:30", "correction canceled SHIFT_STARTED"}, {"17:00-21:30", "correction canceled SHIFT_VERSION_CHANGED"}} {
		s := newStory(t)
		x := s.told(t)
		s.at(t, "16:00")
		s.change(t, x.ID, 0, 8, "18:00-21:30")
		s.sql(t, `INSERT INTO channel_holds (cause, since, notices) VALUES ('forbidden', 0, 1)`)
		if c.times != "18:00-21:30" {
			s.sql(t, `UPDATE shifts SET start_minutes = 17 * 60, version = version + 1 WHERE id = ?`, x.ID)
		}
		s.at(t, "17:00")
		s.recover(t)
		if got := s.notices(t, x.ID)[1]; "correction "+string(got.State)+" "+string(got.Code) != c.want {
			t.Errorf("with %s now it is %s %s, want %s", c.times, got.State, got.Code, c.want)
		}
	}
}

func TestNothingIsSaidWhenNeitherStartIsAhead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(*testing.T, *story, roster.Shift)
	}{
		{"its time", func(t *testing.T, s *story, x roster.Shift) { s.change(t, x.ID, 0, 8, "16:00-20:00") }},
		{"deleted", func(t *testing.T, s *story, x roster.Shift) { s.move(t, x.ID, roster.ShiftDeleted) }},
		{"given away", func(t *testing.T, s *story, x roster.Shift) { s.change(t, x.ID, 1, 8, "17:00-21:30") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			x := s.told(t)
			s.at(t, "17:00")
			c.do(t, s, x)
			s.remind(t)
			s.pastUndo(t)
			s.wantNotices(t, x.ID, "reminder sent")
			s.wantChat(t, 2)
		})
	}
	// The present start alone is reason enough.
	s := newStory(t)
	x := s.told(t)
	s.at(t, "17:00")
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(8, "18:00–21:30"))
}

func TestAWaitingReminderGivesWayToTheReminderOfTheNextVersion(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "14:50")
	s.remind(t)
	s.wantNotices(t, x.ID, "reminder queued")
	s.change(t, x.ID, 0, 8, "16:30-21:30")
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_VERSION_CHANGED", "reminder queued")
	s.move(t, x.ID, roster.ShiftDeleted)
	s.wantNotices(t, x.ID, "reminder canceled SHIFT_VERSION_CHANGED", "reminder canceled SHIFT_DELETED")
	s.step(t)
	s.wantChat(t, 1)
}

func TestOneNoticeOfAShiftIsLiveForAPersonAtATime(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	// A correction that was tried and still passes the check is enough.
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.pastUndo(t)
	s.remind(t)
	s.at(t, "15:45")
	s.remind(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction queued HTTP_500")
	// One that no longer passes is called off in the same moment.
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_VERSION_CHANGED", "correction queued")
	// One that is being sent is left alone, and a cancellation of a later version waits for it.
	s.at(t, "16:00")
	try := s.begin(t)
	s.move(t, x.ID, roster.ShiftDeleted)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_VERSION_CHANGED", "correction processing")
	s.end(t, try, roster.Accepted)
	s.pastUndo(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_VERSION_CHANGED", "correction sent", "cancellation sent")
}

func TestAFailedCorrectionStaysFailedAndIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	s.change(t, x.ID, 0, 12, "17:00-21:30")
	s.pastUndo(t)
	for _, clock := range []string{"15:00", "17:30"} {
		s.at(t, clock)
		s.remind(t)
		s.recover(t)
		s.step(t)
		s.wantNotices(t, x.ID, "reminder sent", "correction failed HTTP_400")
	}
	// The told start has passed, the present one is ahead: a person can still retry it.
	d := s.notices(t, x.ID)[1]
	if err := s.Store.RetryDelivery(t.Context(), d.ID, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"), corrects(12, "17:00–21:30"))
}

func TestAFailedCorrectionDoesNotKeepTheReminderAway(t *testing.T) {
	t.Parallel()
	for _, calledOff := range []bool{false, true} {
		s := newStory(t)
		x := s.told(t)
		s.change(t, x.ID, 0, 12, "17:00-21:30")
		want := []string{"reminder sent", "correction failed HTTP_400"}
		if calledOff {
			if err := s.Store.CancelDelivery(t.Context(), s.notices(t, x.ID)[1].ID, s.Admin.ID); err != nil {
				t.Fatal(err)
			}
			want[1] = "correction canceled CANCELED_BY_ADMIN"
		} else {
			s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
			s.pastUndo(t)
		}
		s.wantNotices(t, x.ID, want...)
		s.Clock.Advance(dbtest.Must(time.ParseInLocation("2006-01-02 15:04", "2027-01-12 14:45", dbtest.Tokyo))(t).Sub(s.Clock.Now()))
		s.remind(t)
		s.step(t)
		s.wantNotices(t, x.ID, append(want, "reminder sent")...)
		if got := s.last(t, 1); !contains(got, "出勤のお知らせ") || !contains(got, "2027年1月8日(金) → 2027年1月12日(火)") {
			t.Errorf("the reminder says\n%s", got)
		}
		var unwanted *db.NotWantedError
		if err := s.Store.RetryDelivery(t.Context(), s.notices(t, x.ID)[1].ID, s.Admin.ID, true); !calledOff && (!errors.As(err, &unwanted) || unwanted.Code != roster.CodeNoLongerNeeded) {
			t.Errorf("the failed correction is still retried: %v", err)
		}
	}
}

func TestARetryIsRefusedWhileAnotherNoticeOfTheShiftIsOnItsWay(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 1})
	s.change(t, x.ID, 0, 12, "17:00-21:30")
	s.pastUndo(t)
	failed := s.notices(t, x.ID)[1]
	s.Clock.Advance(dbtest.Must(time.ParseInLocation("2006-01-02 15:04", "2027-01-12 14:45", dbtest.Tokyo))(t).Sub(s.Clock.Now()))
	s.remind(t)
	if err := s.Store.RetryDelivery(t.Context(), failed.ID, s.Admin.ID, true); !errors.Is(err, db.ErrLive) {
		t.Errorf("the retry answered %v, want ErrLive", err)
	}
	if plan := dbtest.Must(s.Store.PlanRetries(t.Context(), "HTTP_400"))(t); plan.Deliveries != 0 || plan.Unwanted != 1 {
		t.Errorf("the plan is %+v", plan)
	}
}

func TestAnAdminRetriesAFailedNoticeUntilItsDeadline(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 400, Count: 2})
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	id := s.notices(t, x.ID)[0].ID
	s.at(t, "16:59:59")
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantNotices(t, x.ID, "reminder failed HTTP_400")
	s.at(t, "17:00")
	var unwanted *db.NotWantedError
	if err := s.Store.RetryDelivery(t.Context(), id, s.Admin.ID, true); !errors.As(err, &unwanted) || unwanted.Code != roster.CodeShiftStarted {
		t.Errorf("after the deadline the retry answered %v", err)
	}
}

func TestTheEndOfAHoldQueuesTheNoticesThatFailedByItAndStillPassTheCheck(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x, gone := s.Confirm(t, 0, 8, "17:00-21:30"), s.Confirm(t, 1, 8, "17:00-21:30")
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 1})
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	s.wantHold(t, roster.HoldUnauthorized)
	s.wantNotices(t, x.ID, "reminder failed HTTP_401")
	s.wantNotices(t, gone.ID, "reminder queued")
	key := s.notices(t, x.ID)[0].RetryKey
	s.move(t, gone.ID, roster.ShiftDeleted)
	if err := s.Store.EndHold(t.Context(), roster.HoldUnauthorized); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	all := s.wantNotices(t, x.ID, "reminder sent")
	if all[0].RetryKey != key || all[0].Ladder != 2 {
		t.Errorf("it was sent on ladder %d with the same key: %v", all[0].Ladder, all[0].RetryKey == key)
	}
	s.wantNotices(t, gone.ID, "reminder canceled SHIFT_DELETED")
	s.wantChat(t, 2)
	s.sim.Assert(t)
}

func TestTheEndOfAHoldLeavesWhatIsNoLongerTrueAsHistory(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.fault(t, linesim.Fault{Kind: linesim.FaultToken, Count: 1})
	s.at(t, "14:45")
	s.remind(t)
	s.step(t)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	if err := s.Store.EndHold(t.Context(), roster.HoldUnauthorized); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantNotices(t, x.ID, "reminder failed HTTP_401")
	s.at(t, "15:45")
	s.remind(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder failed HTTP_401", "reminder sent")
}

func TestTwoFailedNoticesOfOneShiftDoNotKeepAHoldFromEnding(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 2})
	s.change(t, x.ID, 0, 12, "17:00-21:30")
	s.pastUndo(t)
	if err := s.Store.EndHold(t.Context(), roster.HoldForbidden); err != nil {
		t.Fatal(err)
	}
	s.step(t) // refused again: held again
	s.Clock.Advance(dbtest.Must(time.ParseInLocation("2006-01-02 15:04", "2027-01-12 14:45", dbtest.Tokyo))(t).Sub(s.Clock.Now()))
	s.remind(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction failed HTTP_403", "reminder queued")
	if err := s.Store.EndHold(t.Context(), roster.HoldForbidden); err != nil {
		t.Fatal(err)
	}
	s.wantHold(t)
	s.step(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction failed HTTP_403", "reminder sent")
}

func TestAfterTheKeysEndAHoldQueuesANoticeOnlyIfEveryTryWasRefused(t *testing.T) {
	t.Parallel()
	for _, unknown := range []bool{false, true} {
		s := newStory(t)
		x := s.told(t)
		s.change(t, x.ID, 0, 15, "17:00-21:30")
		if unknown {
			s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
		}
		s.fault(t, linesim.Fault{Kind: linesim.FaultAccess, Count: 1})
		s.pastUndo(t)
		s.Clock.Advance(2 * time.Minute)
		s.step(t)
		s.wantNotices(t, x.ID, "reminder sent", "correction failed HTTP_403")
		key := s.notices(t, x.ID)[1].RetryKey
		s.Clock.Advance(24 * time.Hour)
		s.remind(t)
		if err := s.Store.EndHold(t.Context(), roster.HoldForbidden); err != nil {
			t.Fatal(err)
		}
		s.step(t)
		if unknown {
			s.wantNotices(t, x.ID, "reminder sent", "correction failed HTTP_403") // only offered
			continue
		}
		if all := s.wantNotices(t, x.ID, "reminder sent", "correction sent"); all[1].RetryKey == key {
			t.Error("it was sent with the old key")
		}
	}
}

func TestTheMonthlyLimitMetByANoticeHoldsAll(t *testing.T) {
	t.Parallel()
	for _, byNotice := range []bool{true, false} {
		s := newStory(t)
		s.sim.SetQuota(0)
		s.at(t, "15:00")
		if byNotice {
			s.Confirm(t, 0, 8, "17:00-21:30")
		} else {
			s.Draft(t, 0, 8, "17:00-21:30")
			s.sql(t, `UPDATE shifts SET state = 'confirmed'`)
			s.Publish(t)
		}
		s.step(t)
		s.wantHold(t, roster.HoldMonthlyLimit)
		s.sim.SetQuota(-1)
		if byNotice {
			s.Publish(t)
		} else {
			s.remind(t)
		}
		worked := s.step(t)
		if byNotice && worked != 0 {
			t.Error("a publication went while notices are held")
		}
		if !byNotice && len(s.chat(1)) != 1 {
			t.Error("a notice waited for a limit that a publication met")
		}
	}
}

func TestAHeldNoticeIsStillReaimedAndEnded(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.sql(t, `INSERT INTO channel_holds (cause, since, notices) VALUES ('forbidden', 0, 1)`)
	s.change(t, x.ID, 0, 8, "18:00-21:30")
	s.at(t, "16:00")
	s.change(t, x.ID, 0, 8, "19:00-21:30")
	s.wantNotices(t, x.ID, "reminder sent", "correction queued")
	s.at(t, "17:00")
	s.recover(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_STARTED", "correction queued")
	s.at(t, "19:00")
	s.recover(t)
	s.wantNotices(t, x.ID, "reminder sent", "correction canceled SHIFT_STARTED", "correction canceled SHIFT_STARTED")
}

func TestWhenARetryKeyRunsOutTheCorrectionFailsAndCanBeRetried(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.told(t)
	s.change(t, x.ID, 0, 12, "17:00-21:30")
	s.pastUndo(t)
	s.fault(t, linesim.Fault{Kind: linesim.FaultStatus, Status: 500, Count: 1})
	s.change(t, x.ID, 0, 15, "17:00-21:30")
	s.pastUndo(t)
	s.Clock.Advance(24*time.Hour - 10*time.Minute)
	s.step(t)
	all := s.wantNotices(t, x.ID, "reminder sent", "correction sent", "correction failed RETRY_KEY_EXPIRED")
	s.remind(t)
	if err := s.Store.RetryDelivery(t.Context(), all[2].ID, s.Admin.ID, false); !errors.Is(err, db.ErrMayHaveArrived) {
		t.Errorf("the retry answered %v, want a question first", err)
	}
}

func TestANoticeThatCannotBeComposedSpendsTriesAndFails(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	x := s.Confirm(t, 0, 8, "17:00-21:30")
	s.at(t, "14:45")
	s.remind(t)
	s.sql(t, `CREATE TRIGGER speechless BEFORE INSERT ON told BEGIN SELECT RAISE(FAIL, 'no words'); END`)
	s.spend(t, x.ID)
	all := s.wantNotices(t, x.ID, "reminder failed INTERNAL")
	if d := s.delivery(t, all[0].ID); !d.Dead || d.FirstTryAt != (time.Time{}) {
		t.Errorf("the delivery: dead letter %v, first try %s", d.Dead, d.FirstTryAt)
	}
	s.sql(t, `DROP TRIGGER speechless`)
	if err := s.Store.RetryDelivery(t.Context(), all[0].ID, s.Admin.ID, false); err != nil {
		t.Fatal(err)
	}
	s.step(t)
	s.wantChat(t, 1, reminds(8, "17:00–21:30"))
}
