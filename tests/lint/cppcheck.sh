#!/bin/bash
# cppcheck over the C that ships. It takes out parameters of test programs for
# uninitialised variables; the sanitizers find those that are.
# timeout: 600
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need cppcheck
need_build

mapfile -t sources < <(files '*.c' | grep -E '^(journal|fs|tools)/')
mkdir -p "$RS_BUILD/cppcheck"
if [ ${#sources[@]} -gt 0 ]; then
	cppcheck -j2 --quiet --std=c11 --library=posix --library=gnu \
		--enable=warning,portability,performance --inline-suppr \
		--suppressions-list=tests/lint/cppcheck.supp \
		--cppcheck-build-dir="$RS_BUILD/cppcheck" \
		--error-exitcode=1 -I. -D_GNU_SOURCE= -D__linux__ -D__x86_64__ \
		"${sources[@]}"
fi
echo "${#sources[@]} files"
