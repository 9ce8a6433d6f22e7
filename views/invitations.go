package views

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"rsc.io/qr"

	"shiftpost/db/roster"
	"shiftpost/views/text"
)

// TeacherPath is the address of a teacher's page.
func TeacherPath(teacherID int64) string { return "/teachers/" + itoa(teacherID) + "/edit" }

// TeacherLINEState is what a teacher's page says about LINE beside the teacher's own state.
type TeacherLINEState struct {
	Connected  bool // there is a LIFF app that an invitation could open
	LinkedAt   time.Time
	Invitation *roster.Invitation // that can still be used; nil if there is none
	Location   *time.Location
}

// InvitationForm asks whom to invite.
type InvitationForm struct {
	Classrooms []roster.Classroom
	Teachers   []roster.Teacher            // who can be invited
	Open       map[int64]roster.Invitation // by teacher: what a new one takes the place of
	Chosen     []int64
	Connected  bool
	Error      string
	Location   *time.Location
}

func (f InvitationForm) in(classroomID int64) (list []roster.Teacher) {
	for _, t := range f.Teachers {
		if t.ClassroomID == classroomID {
			list = append(list, t)
		}
	}
	return list
}

func (f InvitationForm) chosen(t roster.Teacher) bool { return slices.Contains(f.Chosen, t.ID) }

// hint says that a teacher has an invitation which a new one replaces.
func (f InvitationForm) hint(ctx context.Context, t roster.Teacher) string {
	x, ok := f.Open[t.ID]
	if !ok {
		return ""
	}
	return text.T(ctx, "invitations.has", "Moment", text.Moment(ctx, x.ExpiresAt, f.Location))
}

// Invitation is one with its secret address, as it is shown once.
type Invitation struct {
	Teacher   roster.Teacher
	URL       string
	ExpiresAt time.Time
	Location  *time.Location
}

func (x Invitation) until(ctx context.Context) string {
	return text.T(ctx, "invitations.until", "Moment", text.Moment(ctx, x.ExpiresAt, x.Location))
}

// InvitationAnswer is what an invitation would do, as whoever opened it reads it.
type InvitationAnswer struct {
	Teacher  roster.Teacher
	LINEName string // what they call themselves at LINE; empty if LINE does not say
	Token    string
}

// LinkedTeacher is a teacher who is linked, and how messages reach them.
type LinkedTeacher struct {
	Teacher  roster.Teacher
	Reach    Reach
	Now      bool // by this very request
	LinkedAt time.Time
	Location *time.Location
}

// Reach is whether messages reach a teacher on LINE.
type Reach struct {
	Friend bool
	Known  bool   // LINE said so just now
	AddURL string // where they can add the account as a friend; empty if LINE does not say
}

// quiet is the white border of a QR code, in modules. Source: ISO/IEC 18004 asks for four.
const quiet = 4

// qrCode is a QR code as the path of an SVG and its width in modules, border included.
func qrCode(content string) (path string, size int, err error) {
	code, err := qr.Encode(content, qr.M)
	if err != nil {
		return "", 0, fmt.Errorf("encode QR code: %w", err)
	}
	var b strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			if !code.Black(x, y) {
				continue
			}
			from := x
			for x+1 < code.Size && code.Black(x+1, y) {
				x++
			}
			fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", from+quiet, y+quiet, x-from+1, x-from+1)
		}
	}
	return b.String(), code.Size + 2*quiet, nil
}
