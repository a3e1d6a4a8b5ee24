#!/bin/bash
# Every shell script passes shellcheck, found by its first line; Python files
# at least parse. A script that passed isn't looked at again until it or one
# of those that are sourced changes: the stamps are in the build directory.
# timeout: 300
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need shellcheck python3 sha256sum
need_build

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

stamps=$RS_BUILD/shellcheck
mkdir -p "$stamps"
common=$(mktemp)
trap 'rm -f "$common"' EXIT
{
	files '*' | grep -E '(^|/)(lib[^/]*|disk)\.sh$' | xargs -r cat
	cat "$0"
	shellcheck --version
} >"$common"

one()
{
	local key

	key=$stamps/${1//\//_}.$(cat "$common" "$1" | sha256sum | cut -d' ' -f1)
	[ ! -e "$key" ] || return 0
	shellcheck "$1" || return 1
	rm -f "$stamps/${1//\//_}."*
	touch "$key"
}
export -f one
export common stamps

bad=0
if [ ${#shell[@]} -gt 0 ]; then
	printf '%s\0' "${shell[@]}" | xargs -0 -P2 -I{} bash -c 'one {}' ||
		bad=1
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
