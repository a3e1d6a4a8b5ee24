# shellcheck shell=bash
# What the lint scripts share; sourced after "set -euo pipefail".

RS_SRC=${RS_SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
cd "$RS_SRC" || exit 1

# files PATTERN...: the tree's files that match, whether committed or not yet,
# but not what .gitignore names. Globs are git's: '*' crosses folders.
files()
{
	local name

	if [ -e .git ]; then
		git -c safe.directory='*' ls-files -co --exclude-standard -- "$@"
	else
		find . -path ./build -prune -o -type f -print |
			sed 's|^\./||' | while read -r name; do
			for pattern in "$@"; do
				# shellcheck disable=SC2053 # a glob
				[[ $name == $pattern ]] || continue
				echo "$name"
				break
			done
		done
	fi | sort -u | while read -r name; do
		[ -f "$name" ] && echo "$name"
	done || true
}

# need PROGRAM...: a check that can't run is a failure, not a pass.
need()
{
	local program

	for program in "$@"; do
		command -v "$program" >/dev/null || {
			echo "lint: '$program' is missing, run tools/deps" >&2
			exit 1
		}
	done
}

# The built tree, for checks of what came out of the compiler.
need_build()
{
	if [ ! -f "${RS_BUILD:-/nonexistent}/CMakeCache.txt" ]; then
		echo "lint: RS_BUILD must name a configured build" >&2
		exit 1
	fi
}

# flags: how a file of ours is compiled, for tools without a database.
flags()
{
	# Word lists by design.
	echo "-std=gnu11 -I$RS_SRC -D_GNU_SOURCE= -D_FILE_OFFSET_BITS=64" \
		'-DRS_VERSION="lint"' \
		"$(pkg-config --cflags lmdb libcrypto fuse3 jansson inih |
			sed 's/-I/-isystem /g')"
}
