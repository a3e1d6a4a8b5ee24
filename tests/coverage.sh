#!/bin/bash
# What the tests run of journal/ and of the core of fs/: a report of lines and
# branches, in which each line that no test reached is named.
#
#	tests/coverage.sh [OUT]     OUT: coverage.txt, in the build directory
#	tests/coverage.sh --only-report [OUT]
#
# Builds build/coverage (not optimised, counted by gcov) and runs the tests
# that need no mount, for these are what must reach the error paths. Exit 1 if
# one of them fails, or if coverage.py misses something (see there).
set -euo pipefail

src=$(cd "$(dirname "$0")/.." && pwd)
build=${RS_BUILD_DIR:-$src/build}/coverage
jobs=${RS_JOBS:-$(nproc)}
rc=0

if [ "${1:-}" = --only-report ]; then
	shift
else
	cmake --log-level=WARNING -S "$src" --preset coverage -B "$build" \
		>/dev/null
	cmake --build "$build" -j "$jobs" -- --quiet
	find "$build" -name '*.gcda' -delete
	ctest --test-dir "$build" -j "$jobs" --output-on-failure \
		--no-tests=error -LE '^long$' \
		-R '^(unit\.|fault\.|format\.(golden|rot\.san))' || rc=1
	RS_SRC=$src RS_BUILD=$build "$src/tests/run" crash.model 1800 \
		"$build/tests/crash/model" -s 1 -n 150 -o 20 -e 6 -c 3 || rc=1
fi
python3 -I "$src/tests/coverage.py" "$src" "$build" \
	"${1:-$build/coverage.txt}" || rc=1
exit $rc
