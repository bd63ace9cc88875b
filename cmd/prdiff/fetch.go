package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
)

// With helm.fetch, charts that Applications and HelmReleases take from elsewhere are
// fetched by the user's helm program: by this process, never by one that renders,
// and with nothing from the repository but a name, a version and an address that
// were checked. Children are handed the packed chart.

// Limits on fetching. A chart that is packed has some 100 KB, the largest a few MB.
const (
	maxFetched   = 20 << 20 // bytes of one packed chart
	maxKept      = 256 << 20
	fetchTimeout = 60 * time.Second
)

// A fetcher fetches each chart once in a run. Safe for concurrent use.
type fetcher struct {
	getenv  func(string) string
	program string        // "" means helm, as PATH has it
	dir     string        // where charts are kept for other runs, "" for nowhere
	timeout time.Duration // 0 means fetchTimeout

	mu   sync.Mutex
	once map[gitops.Remote]func() ([]byte, error)
}

// fetcher gives what fetches charts, should the configuration ask for it.
func (f *workFlags) fetcher(e env) *fetcher {
	out := &fetcher{getenv: e.getenv}
	if dir := f.cacheDir(e); dir != "" {
		out.dir = filepath.Join(dir, "charts")
	}
	return out
}

// fill gives a definition with the charts that could be fetched. Of the others it
// is said why.
func (f *fetcher) fill(ctx context.Context, d gitops.Definition) gitops.Definition {
	if f == nil || !slices.ContainsFunc(d.Sources, func(s gitops.Source) bool { return s.Remote != nil }) {
		return d
	}
	d.Sources = slices.Clone(d.Sources)
	for i := range d.Sources {
		s := &d.Sources[i]
		if s.Remote == nil {
			continue
		}
		archive, err := f.get(ctx, *s.Remote)
		if err != nil {
			s.Reason += "; helm.fetch: " + err.Error()
			continue
		}
		s.Archive = archive
	}
	return d
}

func (f *fetcher) get(ctx context.Context, r gitops.Remote) ([]byte, error) {
	f.mu.Lock()
	once, ok := f.once[r]
	if !ok {
		once = sync.OnceValues(func() ([]byte, error) { return f.fetch(ctx, r) })
		if f.once == nil {
			f.once = map[gitops.Remote]func() ([]byte, error){}
		}
		f.once[r] = once
	}
	f.mu.Unlock()
	return once()
}

var (
	chartName    = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)
	exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`)
	addressHost  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?$`)
	// What resolvers may take for an address too, such as 2852039166 or 0xa9.254.43518
	// (https://url.spec.whatwg.org/#ends-in-a-number-checker).
	endsInNumber = regexp.MustCompile(`(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$`)
	addressPath  = regexp.MustCompile(`^(?:/[A-Za-z0-9._~-]+)*/?$`)
)

// checkRemote says why a chart is not fetched, nil when it may be.
func checkRemote(r gitops.Remote) error {
	if !chartName.MatchString(r.Name) {
		return fmt.Errorf("%.100q is no name of a chart", r.Name)
	}
	if len(r.Version) > 128 || !exactVersion.MatchString(r.Version) {
		return fmt.Errorf("only one exact version is fetched, and %.100q is none", r.Version)
	}
	u, err := url.Parse(r.Address)
	if err != nil || len(r.Address) > 512 {
		return fmt.Errorf("%.100q is no address", object.MaskText(r.Address))
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "oci":
		return fmt.Errorf("only addresses with https, http and oci are fetched from")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" || !addressHost.MatchString(u.Host) || !addressPath.MatchString(u.EscapedPath()) || strings.Contains(u.Path, ".."):
		return fmt.Errorf("the address has more than a host and a path")
	}
	// Where clouds tell a machine its credentials, however it is spelled. A name that
	// leads there is not found out here; what it answers is no chart.
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip := net.ParseIP(host)
	if ip != nil && ip.IsLinkLocalUnicast() || ip == nil && endsInNumber.MatchString(host) || host == "metadata.google.internal" {
		return fmt.Errorf("%s is no address of charts", u.Host)
	}
	return nil
}

func (f *fetcher) fetch(ctx context.Context, r gitops.Remote) ([]byte, error) {
	if err := checkRemote(r); err != nil {
		return nil, err
	}
	if archive, ok := f.kept(r); ok {
		return archive, nil
	}
	archive, err := f.pull(ctx, r)
	if err == nil {
		f.keep(r, archive)
	}
	return archive, err
}

// pull runs helm pull in an empty folder of its own.
func (f *fetcher) pull(ctx context.Context, r gitops.Remote) ([]byte, error) {
	program := f.program
	if program == "" {
		var err error
		if program, err = f.find("helm"); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "prdiff-chart-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	timeout := cmp.Or(f.timeout, fetchTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("helm pull was stopped after %s", timeout))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	args := []string{"pull", "--version", r.Version, "--destination", dir}
	name := r.Name
	if strings.HasPrefix(r.Address, "oci://") {
		name = r.Address
	} else {
		args = append(args, "--repo", r.Address)
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--", name)...)
	var said headOf
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, io.Discard, &said, time.Second
	// The index of a repository may name archives of any scheme, and helm would have
	// a plugin get those: it finds none.
	cmd.Env = append(f.environment(), "HELM_PLUGINS="+filepath.Join(dir, "none"))
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				if sizeOf(dir) > 2*maxFetched {
					stop(fmt.Errorf("the chart has more than %d MiB", maxFetched>>20))
				}
			}
		}
	}()
	err = cmd.Run()
	cause := context.Cause(ctx)
	stop(nil)
	<-watched
	switch {
	case cause != nil:
		return nil, cause
	case err != nil:
		return nil, fmt.Errorf("helm pull: %s", cmp.Or(said.line(), err.Error()))
	}
	return onlyArchive(dir)
}

// onlyArchive reads the one packed chart of a folder.
func onlyArchive(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".tgz") {
			found = append(found, filepath.Join(dir, e.Name()))
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("helm pull gave %d packed charts instead of one", len(found))
	}
	file, err := os.Open(found[0])
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFetched+1))
	if err == nil && len(data) > maxFetched {
		err = fmt.Errorf("the chart has more than %d MiB", maxFetched>>20)
	}
	return data, err
}

// environment is what helm needs to find its settings, credentials, proxies and
// certificates, and no token that is for something else
// (https://helm.sh/docs/helm/helm/).
func (f *fetcher) environment() []string {
	var out []string
	for _, name := range []string{
		"PATH", "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "SystemRoot", "TEMP", "TMP", "TMPDIR",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "DOCKER_CONFIG",
		"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_REGISTRY_CONFIG", "HELM_REPOSITORY_CACHE", "HELM_REPOSITORY_CONFIG",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v := f.getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// find looks a program up in PATH as the run has it. A folder that is named
// relative to the current one is passed over: it may be the repository's.
func (f *fetcher) find(name string) (string, error) {
	for _, dir := range filepath.SplitList(f.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", errors.New("there is no helm program in PATH")
}

func sizeOf(dir string) (total int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

// A headOf keeps the beginning of what a program says.
type headOf struct{ b bytes.Buffer }

func (h *headOf) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), 4096-min(4096, h.b.Len()))])
	return len(p), nil
}

// line gives the last line of it, which is where helm says what is wrong, masked.
func (h *headOf) line() string {
	text := strings.TrimSpace(h.b.String())
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return object.MaskText(strings.ToValidUTF8(text[:min(len(text), 300)], ""))
}

// Charts are kept by the digest of their content, and a file per name, version and
// address tells the digest.
func (f *fetcher) reference(r gitops.Remote) string {
	sum := sha256.Sum256([]byte(r.Address + "\x00" + r.Name + "\x00" + r.Version))
	return filepath.Join(f.dir, hex.EncodeToString(sum[:])+".digest")
}

func (f *fetcher) content(digest string) string {
	return filepath.Join(f.dir, "sha256-"+digest+".tgz")
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// kept gives a chart of an earlier run. One that is damaged is not there.
func (f *fetcher) kept(r gitops.Remote) ([]byte, bool) {
	if f.dir == "" {
		return nil, false
	}
	digest, err := readSmall(f.reference(r), 2*sha256.Size)
	if err != nil {
		return nil, false
	}
	if _, err := hex.DecodeString(string(digest)); err != nil {
		return nil, false
	}
	data, err := readSmall(f.content(string(digest)), maxFetched)
	if err != nil || digestOf(data) != string(digest) {
		return nil, false
	}
	return data, true
}

func readSmall(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("too large")
	}
	return data, err
}

// keep keeps a chart for other runs. What cannot be written is not kept.
func (f *fetcher) keep(r gitops.Remote, archive []byte) {
	if f.dir == "" || os.MkdirAll(f.dir, 0o700) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	digest := digestOf(archive)
	if writeWhole(f.dir, f.content(digest), archive) == nil && writeWhole(f.dir, f.reference(r), []byte(digest)) == nil {
		trimCharts(f.dir)
	}
}

// writeWhole writes a file that others see whole or not at all.
func writeWhole(dir, name string, data []byte) error {
	file, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// trimCharts takes the oldest away where there are too many bytes.
func trimCharts(dir string) {
	type entry struct {
		name string
		size int64
		at   time.Time
	}
	var all []entry
	var total int64
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, entry{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, e := range all {
		if total <= maxKept {
			return
		}
		_ = os.Remove(e.name)
		total -= e.size
	}
}

// fetched gives the side with the charts of one unit fetched, where they are.
func (s side) fetched(ctx context.Context, u render.Unit) side {
	d, ok := s.definitions[u]
	if !ok || s.fetcher == nil {
		return s
	}
	s.definitions = map[render.Unit]gitops.Definition{u: s.fetcher.fill(ctx, d)}
	return s
}
