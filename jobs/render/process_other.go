//go:build unix && !linux

package render

import "syscall"

// processAttributes is for developers' machines: only Linux can kill Chrome
// when this program dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
