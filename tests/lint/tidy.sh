#!/bin/bash
# clang-tidy with the checks of .clang-tidy over what the programs are made of.
# A file that passed isn't looked at again until it, a header, .clang-tidy or
# the way it is compiled changes: the stamps are in the build directory.
# timeout: 900
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need clang-tidy sha256sum
need_build

mapfile -t sources < <(files 'journal/*.c' 'fs/*.c' 'tools/*.c')
if [ ${#sources[@]} = 0 ]; then
	echo "0 files"
	exit 0
fi

stamps=$RS_BUILD/tidy
mkdir -p "$stamps"
common=$(mktemp)
trap 'rm -f "$common"' EXIT
{
	files '*.h' | xargs -r cat
	cat .clang-tidy "$0"
	clang-tidy --version
	sed -n '/"command":/s/ -o .*//p' "$RS_BUILD/compile_commands.json" |
		sort -u
} >"$common"

one()
{
	local file=$1 key

	key=$(cat "$common" "$file" | sha256sum | cut -d' ' -f1)
	key=$stamps/${file//\//_}.$key
	[ ! -e "$key" ] || return 0
	if clang-tidy --quiet -p "$RS_BUILD" "$file" 2>"$common.${file//\//_}"; then
		rm -f "$common.${file//\//_}" "$stamps/${file//\//_}."*
		touch "$key"
		return 0
	fi
	# Errors of the tool itself come on stderr, amid counts of warnings.
	grep -v 'warnings\? generated' "$common.${file//\//_}" >&2 || true
	rm -f "$common.${file//\//_}"
	echo "tidy: '$file'" >&2
	return 1
}
export -f one
export common stamps RS_BUILD

bad=0
printf '%s\0' "${sources[@]}" | xargs -0 -P2 -I{} bash -c 'one {}' || bad=1
echo "${#sources[@]} files"
exit $bad
