package source

import (
	"context"
	"errors"
	"slices"
)

// Commit gives the id of the commit that rev names in the repository that dir is in.
func Commit(ctx context.Context, dir, rev string, o Options) (string, error) {
	r, err := discover(ctx, dir, o)
	if err != nil {
		return "", err
	}
	return r.commit(ctx, rev)
}

// Fetch has git get one commit, with its files, from the remote origin, unless it is
// there. It is for shallow clones that end one commit too early; a clone with its
// whole history keeps that. Nothing that the repository's own configuration names is run.
func Fetch(ctx context.Context, dir, id string, o Options) error {
	if !isObjectID(id) {
		return errorOf(ErrNoRevision, "%.80q is not the id of a commit", id)
	}
	r, err := discover(ctx, dir, o)
	if err != nil {
		return err
	}
	if _, err := r.revParse(ctx, id+"^{commit}"); err == nil {
		return nil
	}
	if key := r.config.fetchProgram(); key != "" {
		return errorOf(ErrMissingObject, "the commit %s is not in this clone, and prdiff does not fetch it while the repository's own configuration names a program to fetch with (%s)", id, key)
	}
	getenv := o.getenv()
	ssh := getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		ssh = r.config.trusted("core.sshcommand")
	}
	if ssh == "" {
		ssh = "ssh -o BatchMode=yes"
	}
	args := slices.Clone(r.config.trustedHelpers())
	args = append(args, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")
	if r.shallow {
		// On a clone with its whole history it would cut that off.
		args = append(args, "--depth=1")
	}
	cmd := r.command(ctx, append(args, "origin", id)...)
	// The last of several settings of one name counts.
	cmd.Env = append(pass(slices.Clone(r.env), getenv, passedOnToFetch), "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "GIT_SSH_COMMAND="+ssh)
	stderr := &headBuffer{}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		err = r.runError(ctx, "fetch", err, stderr.String())
		if errors.Is(err, ErrNoGit) || ctx.Err() != nil {
			return err
		}
		why := firstLine(stderr.String())
		if why == "" {
			why = err.Error()
		}
		return errorOf(ErrShallow, "the commit %s is not in this clone, and git could not fetch it (%s): in GitHub Actions give actions/checkout `fetch-depth: 2`, or leave its credentials in place", id, why)
	}
	_, err = r.revParse(ctx, id+"^{commit}")
	return err
}

// trustedHelpers are the arguments that leave git with those credential helpers
// that the user or the machine chose.
func (c gitConfig) trustedHelpers() []string {
	out := []string{"-c", "credential.helper="}
	for _, o := range c.helpers() {
		out = append(out, "-c", o)
	}
	return out
}
