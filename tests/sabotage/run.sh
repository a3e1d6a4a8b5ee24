#!/bin/bash
# Does each test that guards a promise fail when the promise is broken?
#
#	run.sh              every patch beside this script
#	run.sh G6-retry...  these
#
# A patch breaks one thing in a line or two. Its head says which promise that
# is, and which test has to turn red:
#
#	Guards: G6
#	Test: unit.commit               a test of ctest, or
#	Run: tests/crash/run_cut.sh ID  a script with arguments, or a
#	                                program of build/dev
#
# A copy of the sources is built once; each guarding test has to pass there.
# Then each patch is applied, built, its guard run, and taken back.
# timeout: 3600
# labels: long
set -euo pipefail

: "${RS_SRC:?the sources, set by tests/run}"
work=$(mktemp -d "${TMPDIR:-/tmp}/sabotage.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
src=$work/src
build=$work/src/build/dev

fail()
{
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

build_it()
{
	cmake --build "$build" -j2 -- --quiet >"$work/build.log" 2>&1 || {
		tail -n 40 "$work/build.log"
		fail "'$1' doesn't build"
	}
}

# head_of PATCH KEY
head_of()
{
	sed -n "/^--- /q;s/^$2: //p" "$1"
}

# guard PATCH: run its test, in the copy.
guard()
{
	local test command

	test=$(head_of "$1" Test)
	command=$(head_of "$1" Run)
	if [ -n "$test" ]; then
		ctest --test-dir "$build" -R "^${test//./\\.}\$" \
			--no-tests=error --output-on-failure
	else
		[ -n "$command" ] || fail "'$1' names no test"
		# shellcheck disable=SC2086 # words
		set -- $command
		case $1 in
		*.sh) set -- bash "$src/$1" "${@:2}" ;;
		*) set -- "$build/$1" "${@:2}" ;;
		esac
		RS_SRC=$src RS_BUILD=$build "$src/tests/run" sabotage 900 "$@"
	fi >"$work/guard.log" 2>&1
}

begin()
{
	mkdir "$src"
	tar -C "$RS_SRC" --exclude=./build --exclude=./.git -cf - . |
		tar -C "$src" -xf -
	cmake --log-level=WARNING -S "$src" --preset dev -B "$build" >/dev/null
	build_it "the tree as it is"
}

# Each guard once without a sabotage.
baseline()
{
	local patch key

	declare -A seen
	for patch; do
		key=$(head_of "$patch" Test)$(head_of "$patch" Run)
		[ -z "${seen[$key]:-}" ] || continue
		seen[$key]=1
		guard "$patch" || {
			tail -n 40 "$work/guard.log"
			fail "'$key' fails without any sabotage"
		}
	done
}

# try PATCH: 0 if its guard turned red.
try()
{
	local rc=0

	patch -d "$src" -p1 -s <"$1" || fail "'$1' doesn't apply"
	build_it "$1"
	! guard "$1" || rc=1
	patch -d "$src" -p1 -s -R <"$1"
	return $rc
}

main()
{
	local patch name bad=0 patches=()

	begin
	for name; do
		patches+=("$src/tests/sabotage/$name.patch")
	done
	[ $# -gt 0 ] || patches=("$src"/tests/sabotage/*.patch)
	baseline "${patches[@]}"
	for patch in "${patches[@]}"; do
		name=$(basename "$patch" .patch)
		if try "$patch"; then
			printf '%s: seen by %s%s\n' "$name" \
				"$(head_of "$patch" Test)" \
				"$(head_of "$patch" Run)"
			grep -hoE 'crash:[0-9]+:[0-9]+:[0-9]+|FAILED.*' \
				"$work/guard.log" | head -n 1 || true
		else
			printf '%s: NOT NOTICED\n' "$name"
			bad=1
		fi
	done
	return $bad
}

main "$@"
