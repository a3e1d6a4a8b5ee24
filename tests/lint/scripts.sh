#!/bin/bash
# Every shell script passes shellcheck, found by its first line; Python files
# at least parse.
# timeout: 300
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need shellcheck python3

shell=()
python=()
while read -r file; do
	# The first line alone tells: scripts of ours need not end in .sh.
	IFS= read -r first <"$file" 2>/dev/null || true
	case $first in
	'#!'*/bash | '#!'*/sh | '#!'*'env bash' | '#!'*/bash' '* | \
		'# shellcheck'' shell='*)
		shell+=("$file")
		continue
		;;
	'#!'*python3*)
		python+=("$file")
		continue
		;;
	esac
	case $file in
	*.sh | *.bash) shell+=("$file") ;;
	*.py) python+=("$file") ;;
	esac
done < <(files '*' | grep -vE '\.(c|h|md|json|txt|seed|bin|gz|xz|mdb|log)$')

bad=0
if [ ${#shell[@]} -gt 0 ]; then
	printf '%s\0' "${shell[@]}" | xargs -0 -P2 -n8 \
		shellcheck || bad=1
fi
if [ ${#python[@]} -gt 0 ]; then
	python3 -c '
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path, encoding="utf-8").read(), path)
' "${python[@]}" || bad=1
fi
echo "${#shell[@]} shell scripts, ${#python[@]} python files"
exit $bad
