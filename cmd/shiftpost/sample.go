package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shiftpost/db"
	"shiftpost/db/roster"
	"shiftpost/handlers/auth"
	"shiftpost/jobs/line/linesim"
)

// The sample school of the demo. It and everybody in it are made up.
const (
	sampleSchool   = "みほん塾"
	sampleEmail    = "manager@mihon-juku.example"
	samplePassword = "mihon-juku-demo"
	sampleGroup    = "駅前・本町グループ"
)

var samplePatterns = []struct{ name, letter, times string }{
	{"早番", "早", "10:00-15:00"}, {"昼番", "昼", "13:00-18:00"}, {"夕番", "夕", "17:00-21:30"},
	{"遅番", "遅", "18:00-21:30"}, {"夜番", "夜", "22:00-25:00"}, {"講習", "講", "9:00-17:00"},
}

// sampleRooms are the classrooms with their teachers; the last teacher of each is not linked to LINE.
var sampleRooms = []struct {
	name, short string
	teachers    []string
}{
	{"駅前教室", "駅前", []string{"佐藤 花子", "鈴木 一郎", "髙橋 健太", "田中 美咲", "勅使河原 桜子", "山田 太郎", "渡邊 翔"}},
	{"本町教室", "本町", []string{"伊藤 さくら", "中村 大輔", "小林 直美", "加藤 誠", "マリア・フェルナンデス", "𠮷川 隆", "吉田 真理"}},
}

// sampleAdmin returns the demo's admin, and makes them if there is none.
func sampleAdmin(ctx context.Context, store *db.Store) (roster.Admin, error) {
	admin, err := store.AdminByEmail(ctx, sampleEmail)
	if errors.Is(err, db.ErrNotFound) {
		return store.CreateAdmin(ctx, db.AdminEdit{Email: sampleEmail, Name: "見本 室長", PasswordHash: auth.HashPassword(samplePassword)})
	}
	return admin, err
}

// fillSample makes the sample school in an empty store, and its people in the simulated LINE if there is one. A store that
// has a group is left as it is.
func fillSample(ctx context.Context, store *db.Store, sim *linesim.Simulator) error {
	if groups, err := store.Groups(ctx); err != nil || len(groups) > 0 {
		return err
	}
	for _, p := range samplePatterns {
		times, err := roster.ParseTimeRange(p.times)
		if err != nil {
			return fmt.Errorf("sample pattern %s: %w", p.name, err)
		}
		if _, err := store.CreatePattern(ctx, db.PatternEdit{Name: p.name, Letter: p.letter, Times: times}); err != nil {
			return err
		}
	}
	group, err := store.CreateGroup(ctx, db.GroupEdit{Name: sampleGroup, LeadMinutes: roster.DefaultLeadMinutes})
	if err != nil {
		return err
	}
	var members []string
	for _, r := range sampleRooms {
		room, err := store.CreateClassroom(ctx, db.ClassroomEdit{GroupID: group.ID, Name: r.name, ShortName: r.short})
		if err != nil {
			return err
		}
		var teachers []roster.Teacher
		for i, name := range r.teachers {
			t, err := store.CreateTeacher(ctx, db.TeacherEdit{ClassroomID: room.ID, Name: name, NoticesOn: true})
			if err != nil {
				return err
			}
			teachers = append(teachers, t)
			if sim == nil {
				continue
			}
			user := sim.AddUser(linesim.User{Name: name, Friend: true})
			members = append(members, user.ID)
			if i == len(r.teachers)-1 {
				continue
			}
			if err := store.LinkTeacher(ctx, t.ID, user.ID); err != nil {
				return err
			}
		}
		if err := fillSampleShifts(ctx, store, room, teachers); err != nil {
			return err
		}
	}
	if sim != nil {
		// Somebody from outside the school: the viewer must refuse them.
		sim.AddUser(linesim.User{Name: "他校 次郎", Friend: true})
		line := sim.AddGroup(linesim.Group{Name: sampleSchool + " 講師連絡", Members: members, BotIn: true})
		if err := store.LinkGroup(ctx, group.ID, line.ID, line.Name, len(members)); err != nil {
			return err
		}
	}
	return nil
}

// fillSampleShifts gives each teacher shifts in this and the next month: the present month confirmed but for a few
// drafts, the next one all drafts. Sundays are free.
func fillSampleShifts(ctx context.Context, store *db.Store, room roster.Classroom, teachers []roster.Teacher) error {
	patterns, err := store.Patterns(ctx)
	if err != nil {
		return err
	}
	letter := map[string]roster.TimeRange{}
	for _, p := range patterns {
		letter[p.Letter] = p.Times
	}
	month := roster.DateOf(store.Now(), store.Location()).MonthOf()
	for _, day := range append(month.Days(), month.Add(1).Days()...) {
		if day.Weekday() == time.Sunday {
			continue
		}
		for i, t := range teachers {
			if (day.Day+2*i+int(room.ID))%3 != 0 && (day.Day+i)%7 != 0 {
				continue
			}
			times := letter[[]string{"夕", "遅", "夕", "遅", "夕", "夜", "夕"}[(day.Day+i)%7]]
			if day.Weekday() == time.Saturday {
				times = letter[[]string{"早", "昼"}[i%2]]
			}
			state := roster.ShiftConfirmed
			if day.MonthOf() != month || (day.Day > 24 && i == 3) {
				state = roster.ShiftDraft
			}
			if _, err := store.AddShift(ctx, db.ShiftEdit{TeacherID: t.ID, ClassroomID: room.ID, Date: day, Times: times}, state); err != nil {
				return err
			}
		}
	}
	return nil
}
