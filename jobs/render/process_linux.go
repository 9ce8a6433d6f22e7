package render

import "syscall"

// processAttributes puts Chrome and all its helpers into a process group of
// their own, so that they can be killed together and Ctrl-C in a terminal does
// not reach them before we stop them. If this program dies, the kernel kills
// Chrome.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
