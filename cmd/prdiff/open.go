package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/report"
)

// openPage writes the report as a page into a new temporary folder, which only the
// user can read, and opens it in the browser. Where there is none to open, it says
// where the page is: that is no fault.
func (e env) openPage(ctx context.Context, r *report.Report, o report.Options) error {
	var b bytes.Buffer
	if err := report.HTML(&b, r, o); err != nil {
		return fmt.Errorf("--open: %w", err)
	}
	dir, err := os.MkdirTemp("", "prdiff-")
	if err != nil {
		return fmt.Errorf("--open: %w", err)
	}
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("--open: %w", err)
	}
	if file, err = filepath.Abs(file); err != nil {
		return fmt.Errorf("--open: %w", err)
	}
	command, why := e.browser(runtime.GOOS, exec.LookPath)
	if command != nil {
		if err := e.show(ctx, append(command, file)); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		why = " (not opened: " + why + ")"
	}
	_, err = fmt.Fprintf(e.stderr, "prdiff: the page is %s%s\n", printable(file), printable(why))
	return err
}

// browser gives the command that opens a page, which takes its file as the last
// argument, or says why there is none.
func (e env) browser(system string, look func(string) (string, error)) (command []string, why string) {
	if e.getenv("CI") != "" || e.inActions() {
		return nil, "this is CI"
	}
	// Such as the helper of an editor that is connected to this machine. A list of
	// browsers, or a command with places for the address, is for others to take apart.
	if b := e.getenv("BROWSER"); b != "" && !strings.ContainsAny(b, " %:;") {
		if path, err := look(b); err == nil {
			return []string{path}, ""
		}
	}
	switch system {
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case "darwin":
		command = []string{"open"}
	default:
		if e.getenv("DISPLAY") == "" && e.getenv("WAYLAND_DISPLAY") == "" {
			return nil, "there is no display"
		}
		command = []string{"xdg-open"}
	}
	path, err := look(command[0])
	if err != nil {
		return nil, command[0] + " is not installed"
	}
	command[0] = path
	return command, ""
}

// show starts a command and waits as long as an error may take to show. A browser
// that goes on in the foreground is left to go on.
func (e env) show(ctx context.Context, command []string) error {
	const patience = 3 * time.Second
	// Not CommandContext: what is shown outlives this program.
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = e.some("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
		"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DESKTOP_SESSION",
		"KDE_FULL_SESSION", "KDE_SESSION_VERSION", "BROWSER", "VSCODE_IPC_HOOK_CLI", "WSL_DISTRO_NAME", "WSL_INTEROP", "SystemRoot", "SystemDrive", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP")
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
		}
		return err
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
