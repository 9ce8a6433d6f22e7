package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is the present life of the victim. Calls may come from any goroutine; they wait while nothing runs.
type process struct {
	config victimConfig // but for the clock's offset, which is asked for at each start
	face   func() clockFace
	log    io.Writer // what victims say

	client *http.Client

	mu      sync.Mutex
	changed *sync.Cond
	life    *life  // the last one
	url     string // empty while nothing runs
	err     error  // why nothing will run any more
}

// life is one run of the victim.
type life struct {
	cmd   *exec.Cmd
	ended chan error // gets what the system says of its end
}

func newProcess(c victimConfig, face func() clockFace, log io.Writer) *process {
	p := &process{config: c, face: face, log: log, client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// start runs a new life and returns when it answers.
func (p *process) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := p.config
	c.Clock = p.face()
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), victimVariable+"="+string(b), "GOTRACEBACK=all") // of SIGQUIT
	cmd.Stderr = p.log
	if _, err := cmd.StdinPipe(); err != nil { // the victim ends when this process is gone
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the victim did not start: %w", errors.Join(err, cmd.Wait()))
	}
	l := &life{cmd, make(chan error, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life, p.url = l, strings.TrimSpace(line)
	p.changed.Broadcast()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		byItself := p.url != "" && p.life == l
		p.mu.Unlock()
		if byItself {
			p.fail(fmt.Errorf("the victim ended by itself: %v", err))
		}
		l.ended <- err
	}()
	return nil
}

// signal sends the present life a signal and returns what the system says of its end.
func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	l := p.life
	if p.url == "" {
		p.mu.Unlock()
		return errors.Join(errNoLife, p.err)
	}
	p.url = ""
	p.mu.Unlock()
	if err := l.cmd.Process.Signal(s); err != nil {
		return err
	}
	err := <-l.ended
	p.client.CloseIdleConnections()
	return err
}

var errNoLife = errors.New("no victim runs")

// kill ends the present life as a power cut would end the program: it gets no chance to do anything.
func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return p.fail(fmt.Errorf("kill the victim: %w", err))
	}
	return nil
}

// stop ends the present life as an administrator does, and fails unless it ends well.
func (p *process) stop() error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the victim: %w", err)
	}
	return nil
}

// giveUp ends a life that stands still, and lets it say what it was doing, and lets nobody wait any more.
func (p *process) giveUp(why error) error {
	return errors.Join(p.fail(why), p.signal(syscall.SIGQUIT))
}

// fail lets nobody wait any more.
func (p *process) fail(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.changed.Broadcast()
	return p.err
}

// address waits until a life answers.
func (p *process) address() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.url == "" && p.err == nil {
		p.changed.Wait()
	}
	return p.url, p.err
}

// errUnanswered tells that a call got no answer: it may have been done or not.
var errUnanswered = errors.New("no answer")

// refusedError is an answer that says no.
type refusedError struct {
	status int
	text   string
}

// Error is the answer.
func (e *refusedError) Error() string { return fmt.Sprintf("answered %d: %s", e.status, e.text) }

// call makes one request to the victim. The error is errUnanswered, or a *refusedError, or why nothing runs any more.
func (p *process) call(ctx context.Context, method, path string, in, out any) error {
	url, err := p.address()
	if err != nil {
		return err
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url+path, body)
	if err != nil {
		return err
	}
	res, err := p.client.Do(req)
	if err != nil {
		return errors.Join(errUnanswered, context.Cause(ctx))
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return errUnanswered
	case res.StatusCode != http.StatusOK:
		return &refusedError{res.StatusCode, strings.TrimSpace(string(b))}
	case out == nil:
		return nil
	}
	return json.Unmarshal(b, out)
}

// ask is call until there is an answer, for what may be asked again.
func (p *process) ask(ctx context.Context, method, path string, in, out any) error {
	for {
		err := p.call(ctx, method, path, in, out)
		if !errors.Is(err, errUnanswered) || ctx.Err() != nil {
			return err
		}
	}
}
