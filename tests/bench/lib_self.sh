# shellcheck shell=bash
# lib_self.sh - what the tests of the benchmarks share: a directory that is
# removed, and the question what of a benchmark is still there. For sourcing.
work=$(mktemp -d "${TMPDIR:-/tmp}/self.XXXXXX")
work=$(readlink -f "$work")
trap 'rm -rf --one-file-system "$work"' EXIT
# the benchmark's TMPDIR
mkdir "$work/tmp"

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# processes, loop devices, mounts
held()
{
	pgrep -f "$work/tmp" || losetup -a | grep -F "$work/tmp" ||
		grep -F "$work/tmp" /proc/self/mountinfo
}

left()
{
	held || find "$work/tmp" -mindepth 1
}

# gone WHEN [held]: everything of it, or all but files
gone()
{
	local i what=${2:-left}

	for ((i = 0; i < 2400; i++)); do
		[ -n "$($what)" ] || return 0
		sleep 0.1
	done
	fail "left after $1: $($what)"
}
