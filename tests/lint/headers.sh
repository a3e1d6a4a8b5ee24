#!/bin/bash
# Each header compiles alone, and twice in one file.
# timeout: 300
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need gcc pkg-config

read -r -a options <<<"$(flags)"
options+=(-Wall -Wextra -Wundef -Wstrict-prototypes -Werror)
count=0
bad=0
while read -r header; do
	count=$((count + 1))
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		gcc "${options[@]}" -fsyntax-only -x c - || {
		echo "$header: does not compile alone" >&2
		bad=1
	}
done < <(files 'include/*.h' 'journal/*.h' 'fs/*.h' 'tools/*.h' 'tests/*.h')
echo "$count headers"
exit $bad
