#!/bin/sh
# The shell half of the action: gets the prdiff binary, and calls it. What the
# inputs mean is decided in the binary (prdiff action). Usage:
#
#   prdiff.sh get     find or download the binary; says so in the outputs
#                     binary (its path) or build (true: build it from source)
#   prdiff.sh build   build it from the checkout of the action
#   prdiff.sh run     run it
set -eu

action=${PRDIFF_ACTION_PATH:-$(dirname "$0")/../..}
case ${RUNNER_OS:-} in Windows) exe=prdiff.exe ;; *) exe=prdiff ;; esac

# Windows hands its own paths over, whose backslashes a shell would eat.
slashes() {
	case ${RUNNER_OS:-} in
	Windows) printf '%s\n' "$1" | tr "\\\\" / ;;
	*) printf '%s\n' "$1" ;;
	esac
}
action=$(slashes "$action")
temp=$(slashes "${RUNNER_TEMP:-${TMPDIR:-/tmp}}")

say() { printf 'prdiff action: %s\n' "$*"; }
die() {
	printf '::error title=prdiff::%s\n' "$*"
	exit 2
}
output() { printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"; }

# openssl uses the processor's own instructions, which some builds of sha256sum do
# not: of 80 MB, 0.1 s instead of 0.4.
sha256() {
	sum=$(openssl dgst -sha256 -r "$1" 2>/dev/null | cut -c1-64) || sum=
	case $sum in
	"" | *[!0-9a-f]*) ;;
	*) [ ${#sum} -eq 64 ] && printf '%s\n' "$sum" && return ;;
	esac
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1" | cut -c1-64
	else
		shasum -a 256 "$1" | cut -c1-64
	fi
}

download() {
	if command -v curl >/dev/null 2>&1; then
		curl --fail --silent --show-error --location --retry 3 --connect-timeout 10 --max-time 120 --output "$2" "$1"
	else
		wget --quiet --tries=3 --timeout=30 --output-document="$2" "$1"
	fi
}

use() {
	output binary "$1"
	output build false
	exit 0
}

build_instead() {
	say "$*; building it from source"
	output build true
	exit 0
}

get() {
	if [ -n "${PRDIFF_BINARY_PATH:-}" ]; then
		given=$(slashes "$PRDIFF_BINARY_PATH")
		[ -f "$given" ] || die "binary-path names no file: $given"
		use "$given"
	fi
	# The file is in the commits that releases are tagged with, and names the bytes
	# of the release: whoever pins the action pins the binary.
	pins=$action/.github/action/release.txt
	[ -f "$pins" ] || build_instead 'this commit of the action belongs to no release'
	version=$(sed -n 's/^version //p' "$pins")
	line=$(grep "^${RUNNER_OS:-} ${RUNNER_ARCH:-} " "$pins") || build_instead "no release for ${RUNNER_OS:-} ${RUNNER_ARCH:-}"
	# shellcheck disable=SC2086  # the columns are words
	set -- $line
	[ $# -eq 5 ] || die "release.txt of the action is broken"
	archive=$3 archive_sum=$4 binary_sum=$5

	cache=$(slashes "${RUNNER_TOOL_CACHE:-$temp}")/prdiff/$version/$2
	if [ -f "$cache/$exe" ] && [ "$(sha256 "$cache/$exe")" = "$binary_sum" ]; then
		say "prdiff $version from the tool cache"
		use "$cache/$exe"
	fi

	work=$(mktemp -d "$temp/prdiff-download.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	url=${PRDIFF_DOWNLOAD_URL:-https://github.com/prdiff/prdiff/releases/download}/$version/$archive
	download "$url" "$work/$archive" || build_instead "$url could not be downloaded"
	# A wrong file is no reason to go another way: somebody should look.
	got=$(sha256 "$work/$archive")
	[ "$got" = "$archive_sum" ] || die "$url has the checksum $got, and this commit of the action expects $archive_sum"
	tar -xzf "$work/$archive" -C "$work" "$exe"
	[ "$(sha256 "$work/$exe")" = "$binary_sum" ] || die "$archive holds another binary than this commit of the action expects"
	chmod +x "$work/$exe"
	# Several runners may share a tool cache: the file appears at once or not at all.
	mkdir -p "$cache"
	mv "$work/$exe" "$cache/$exe.$$"
	mv -f "$cache/$exe.$$" "$cache/$exe"
	say "prdiff $version, verified"
	use "$cache/$exe"
}

build() {
	dir=$(mktemp -d "$temp/prdiff-build.XXXXXX")
	cd "$action"
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$dir/$exe" ./cmd/prdiff
	output binary "$dir/$exe"
}

case ${1:-} in
get) get ;;
build) build ;;
run) exec "$PRDIFF_BINARY" action ;;
*) die "usage: prdiff.sh get|build|run" ;;
esac
