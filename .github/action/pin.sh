#!/bin/sh
# Prints release.txt: the bytes of a release that the action takes, one line a
# runner. Usage: pin.sh VERSION DIST, with what goreleaser left in DIST.
#
#   version v1.2.3
#   RUNNER_OS RUNNER_ARCH archive SHA256-of-archive SHA256-of-binary
set -eu
version=$1 dist=$2
printf 'version %s\n' "$version"
while read -r os arch goos goarch exe; do
	archive=prdiff_${version#v}_${goos}_$goarch.tar.gz
	archive_sum=$(awk -v name="$archive" '$2 == name { print $1 }' "$dist/checksums.txt")
	if [ -z "$archive_sum" ] || [ "$archive_sum" != "$(sha256sum "$dist/$archive" | cut -c1-64)" ]; then
		printf '%s is not what checksums.txt says\n' "$archive" >&2
		exit 1
	fi
	# Through a file: of a pipe, the shell would not say that tar failed.
	tar -xzOf "$dist/$archive" "$exe" >"$dist/pinned"
	binary_sum=$(sha256sum "$dist/pinned" | cut -c1-64)
	rm "$dist/pinned"
	printf '%s %s %s %s %s\n' "$os" "$arch" "$archive" "$archive_sum" "$binary_sum"
done <<'LIST'
Linux X64 linux amd64 prdiff
Linux ARM64 linux arm64 prdiff
macOS X64 darwin amd64 prdiff
macOS ARM64 darwin arm64 prdiff
Windows X64 windows amd64 prdiff.exe
Windows ARM64 windows arm64 prdiff.exe
LIST
