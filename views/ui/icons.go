package ui

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// IconName names one of the project's own icons.
type IconName string

// The icons. The first ones are the marks of states, each with a shape of its own, so that no state is told by colour
// alone.
const (
	IconPending  IconName = "pending"  // dotted circle: not sent yet, draft
	IconWaiting  IconName = "waiting"  // clock: queued, or waiting for a retry
	IconSending  IconName = "sending"  // turning arrow: processing
	IconDone     IconName = "done"     // tick in a circle: sent, saved
	IconFailed   IconName = "failed"   // cross in an octagon: failed, an error
	IconCanceled IconName = "canceled" // minus in a circle: called off
	IconUnknown  IconName = "unknown"  // question mark in a diamond: may have arrived
	IconWarning  IconName = "warning"  // exclamation mark in a triangle: cannot be told, attention
	IconInfo     IconName = "info"
	IconStar     IconName = "star" // changed

	IconCalendar  IconName = "calendar"
	IconClose     IconName = "close"
	IconDown      IconName = "down"
	IconDownload  IconName = "download"
	IconEye       IconName = "eye"
	IconGroup     IconName = "group"
	IconLanguage  IconName = "language"
	IconLeft      IconName = "left"
	IconMenu      IconName = "menu"
	IconPattern   IconName = "pattern"
	IconPerson    IconName = "person"
	IconPhone     IconName = "phone"
	IconPlace     IconName = "place"
	IconPlus      IconName = "plus"
	IconRight     IconName = "right"
	IconSearch    IconName = "search"
	IconSend      IconName = "send"
	IconSignOut   IconName = "sign-out"
	IconUndo      IconName = "undo"
	IconArrow     IconName = "arrow" // before → after
	IconPutAway   IconName = "put-away"
	IconBringBack IconName = "bring-back"
	IconRetry     IconName = "retry" // once more: the arrow of sending at rest
)

// icons are drawn on a 24 grid with a stroke of 2 and round ends.
var icons = map[IconName]string{
	IconPending:  `<circle cx="12" cy="12" r="9" stroke-dasharray="2.6 3.05"/>`,
	IconWaiting:  `<circle cx="12" cy="12" r="9"/><path d="M12 7v5.2l3.2 2"/>`,
	IconSending:  `<path d="M20.5 12a8.5 8.5 0 1 1-2.6-6.1L20.5 8"/><path d="M20.5 3.5V8H16"/>`,
	IconDone:     `<circle cx="12" cy="12" r="9"/><path d="m8 12.3 2.8 2.7L16 9.5"/>`,
	IconFailed:   `<path d="M8.2 3h7.6L21 8.2v7.6L15.8 21H8.2L3 15.8V8.2z"/><path d="m9.2 9.2 5.6 5.6m0-5.6-5.6 5.6"/>`,
	IconCanceled: `<circle cx="12" cy="12" r="9"/><path d="M8 12h8"/>`,
	IconUnknown:  `<path d="M12 2.2 21.8 12 12 21.8 2.2 12z"/><path d="M9.9 10a2.15 2.15 0 1 1 3.2 1.9c-.7.4-1.1.8-1.1 1.5"/><path d="M12 16.4v.1"/>`,
	IconWarning:  `<path d="M12 3.5 22 20.5H2z"/><path d="M12 10v4.4"/><path d="M12 17.4v.1"/>`,
	IconInfo:     `<circle cx="12" cy="12" r="9"/><path d="M12 11.2v5"/><path d="M12 7.8v.1"/>`,
	IconStar:     `<path fill="currentColor" d="m12 2.8 2.8 6 6.4.8-4.7 4.5 1.2 6.5L12 17.4l-5.7 3.2 1.2-6.5L2.8 9.6l6.4-.8z"/>`,

	IconCalendar:  `<rect x="3.5" y="5" width="17" height="15.5" rx="1.5"/><path d="M3.5 10h17M8 2.8v4.4M16 2.8v4.4"/>`,
	IconClose:     `<path d="m5.5 5.5 13 13m0-13-13 13"/>`,
	IconDown:      `<path d="m5.5 9 6.5 6.5L18.5 9"/>`,
	IconDownload:  `<path d="M12 3.5v12m-5-4.8 5 4.9 5-4.9"/><path d="M4 20.5h16"/>`,
	IconEye:       `<path d="M2 12c2.2-4.4 5.6-6.5 10-6.5s7.8 2.1 10 6.5c-2.2 4.4-5.6 6.5-10 6.5S4.2 16.4 2 12z"/><circle cx="12" cy="12" r="2.8"/>`,
	IconGroup:     `<circle cx="9" cy="8" r="3.5"/><path d="M2.5 20c0-4 2.7-6 6.5-6s6.5 2 6.5 6"/><path d="M15.5 4.8a3.5 3.5 0 0 1 0 6.4M18 14.6c2.3.8 3.5 2.6 3.5 5.4"/>`,
	IconLanguage:  `<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c5 5.5 5 12.5 0 18-5-5.5-5-12.5 0-18z"/>`,
	IconLeft:      `<path d="M15 5.5 8.5 12l6.5 6.5"/>`,
	IconMenu:      `<path d="M4 6.5h16M4 12h16M4 17.5h16"/>`,
	IconPattern:   `<rect x="3" y="4" width="18" height="7" rx="1.5"/><path d="M3 17h9m4 0h5M9 4v7"/>`,
	IconPerson:    `<circle cx="12" cy="8" r="4"/><path d="M4.5 20.5c0-4.2 3-6.5 7.5-6.5s7.5 2.3 7.5 6.5"/>`,
	IconPhone:     `<path d="M5 3.5h3.6l1.6 4.7-2.2 1.6c1.2 2.8 3.4 5 6.2 6.2l1.6-2.2 4.7 1.6V19a1.7 1.7 0 0 1-1.8 1.7C10.4 20.2 3.8 13.6 3.3 5.3A1.7 1.7 0 0 1 5 3.5z"/>`,
	IconPlace:     `<path d="M4 21V5.5L12 3v18M12 8.5h8V21M2.5 21h19"/><path d="M8 8.5v.1M8 12.5v.1M8 16.5v.1M16 12.5v.1M16 16.5v.1"/>`,
	IconPlus:      `<path d="M12 4.5v15M4.5 12h15"/>`,
	IconRight:     `<path d="M9 5.5 15.5 12 9 18.5"/>`,
	IconSearch:    `<circle cx="10.5" cy="10.5" r="6.5"/><path d="m15.5 15.5 5 5"/>`,
	IconSend:      `<path d="M21 3 10.5 13.5M21 3l-6.5 18-4-7.5L3 9.5z"/>`,
	IconSignOut:   `<path d="M10 3.5H5.5A1.5 1.5 0 0 0 4 5v14a1.5 1.5 0 0 0 1.5 1.5H10"/><path d="M9.5 12H20m-4.2-4.5L20.3 12l-4.5 4.5"/>`,
	IconUndo:      `<path d="M8.5 4.5 4 9l4.5 4.5"/><path d="M4 9h10a5.5 5.5 0 0 1 0 11h-4"/>`,
	IconArrow:     `<path d="M4 12h15.5m-5.5-6 6 6-6 6"/>`,
	IconPutAway:   `<path d="M3 4.5h18v4H3zM4.5 8.5v11h15v-11"/><path d="M9.5 12.5h5"/>`,
	IconRetry:     `<path d="M20.5 12a8.5 8.5 0 1 1-2.6-6.1L20.5 8"/><path d="M20.5 3.5V8H16"/>`,
	IconBringBack: `<path d="M4.5 12.5v8h15v-8"/><path d="M12 15V3.5m-4.5 4.3L12 3.3l4.5 4.5"/>`,
}

// Icon draws an icon in the colour and at 1.25 times the size of the text around it. It is hidden from screen
// readers: a word stands beside it, or the control has a label.
func Icon(name IconName) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		shape, ok := icons[name]
		if !ok {
			return fmt.Errorf("ui: there is no icon %q", name)
		}
		class := "icon"
		if name == IconSending {
			class += " turning"
		}
		_, err := fmt.Fprintf(w, `<svg class="%s" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" focusable="false">%s</svg>`, class, shape)
		return err
	})
}

// BrandMark draws the product's mark: a table of shifts with a tick, on a rounded square of the text's colour.
func BrandMark() templ.Component {
	return templ.Raw(`<svg class="brand-mark" viewBox="0 0 28 28" aria-hidden="true" focusable="false"><rect width="28" height="28" rx="6" fill="currentColor"/><path class="brand-lines" d="M7.5 8.5h13M7.5 14h7M7.5 19.5h5M14.8 18.2l3 3 4.7-5.2" fill="none" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>`)
}
