#!/bin/bash
# Nothing stands at the top of the tree but what DESIGN section "Folders"
# lists, and nothing that a build or an editor made is tracked.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

bad=0
allowed='fs|journal|include|tools|tests|packaging|CMakeLists\.txt|README\.md
ARCHITECTURE\.md|NEWS\.md|CONTRIBUTING\.md|SECURITY\.md|LICENSE
CMakePresets\.json|\.clang-format|\.clang-tidy|\.gitignore|\.shellcheckrc|\.ci|\.git'
extra=$(files '*' | cut -d/ -f1 | sort -u |
	grep -vxE "$(tr '\n' '|' <<<"$allowed" | sed 's/|$//')" || true)
for name in $extra; do
	echo "'$name' has no place at the top of the tree" >&2
	bad=1
done
for name in $(files '*' | grep -E '\.(o|a|so|orig|rej|swp|pyc)$|~$' || true); do
	echo "'$name' is made by a tool and must not be tracked" >&2
	bad=1
done
[ "$(files '.ci/*')" = .ci/run ] || {
	echo ".ci holds run and nothing else" >&2
	bad=1
}
exit $bad
