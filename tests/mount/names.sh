#!/bin/bash
# Names are bytes, up to 255 (B22); paths get longer than PATH_MAX (B23).
# labels: san
. "$(dirname "$0")/lib.sh"

new_store
up
cd "$mnt"
long=$(printf '\377%.0s' {1..255})
names=($'\355a ' "$long" $'caf\303\251' $'cafe\314\201' $'caf\351'
	$'new\nline' 'quote"s' "it's" -dash ' ' '*' \\ '..a' $'\001\033[31m'
	'%s%n' '~')
for name in "${names[@]}"; do
	printf '%s' "$name" >"./$name"
	ln -s -- "$name" "./link-${name:0:200}"
done
if touch "$long"x 2>"$work/err"; then
	fail "256 bytes were taken"
fi
grep -q 'too long' "$work/err" || fail "256 bytes: $(cat "$work/err")"
check_names()
{
	local name

	for name in "${names[@]}"; do
		[ -f "./$name" ] || fail "a name is gone"
		same "$name." "$(cat "./$name"; echo .)" "a file's content"
	done
	same $((2 * ${#names[@]})) \
		"$(find . -mindepth 1 -maxdepth 1 -printf 'x' | wc -c)" \
		"how many names"
}
check_names
snapshot >"$work/before"
cd /
"$ctl" sync "$mnt"
crash
# What the tools print must not reach a terminal as it is.
"$ctl" recover "$store" --list >"$work/list"
! LC_ALL=C tr -d '\n\t\040-\176\200-\377' <"$work/list" | grep -q . ||
	fail "recover --list prints control bytes"
recover
up
cd "$mnt"
check_names
snapshot >"$work/after"
same_tree "$work/before" "$work/after" "names after a crash"
cd /

mkdir "$mnt/deep"
"$posix" deep "$mnt/deep" 120 50
"$posix" deep-check "$mnt/deep" 120 50
"$ctl" sync "$mnt"
crash
recover
up
"$posix" deep-check "$mnt/deep" 120 50
rm -rf "$mnt/deep"
[ ! -e "$mnt/deep" ] || fail "the deep tree can't be removed"
kill -0 "$daemon" || fail "the daemon is gone"
down
