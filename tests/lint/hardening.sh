#!/bin/bash
# The built programs are what the hardening flags promise, and asserts are in.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need readelf nm
need_build

if grep -q '^CMAKE_BUILD_TYPE:.*=Debug$' "$RS_BUILD/CMakeCache.txt"; then
	echo "a Debug build isn't hardened: nothing to check"
	exit 0
fi
bad=0
complain()
{
	echo "$*" >&2
	bad=1
}

count=0
for program in rspoold rspoolctl; do
	file=$RS_BUILD/tools/$program
	if [ ! -x "$file" ]; then
		[ -z "$(files "tools/$program.c")" ] ||
			complain "$file was not built"
		continue
	fi
	count=$((count + 1))
	header=$(readelf -hW "$file")
	dynamic=$(readelf -dW "$file")
	segments=$(readelf -lW "$file")
	symbols=$(nm -D --undefined-only "$file")
	grep -q 'Type:.*DYN' <<<"$header" || complain "$program: not PIE"
	grep -q 'BIND_NOW\|FLAGS_1.*NOW' <<<"$dynamic" ||
		complain "$program: lazy binding"
	grep -q GNU_RELRO <<<"$segments" || complain "$program: no relro"
	grep -q 'GNU_STACK.* RW ' <<<"$segments" ||
		complain "$program: stack can be executed"
	grep -q __stack_chk_fail <<<"$symbols" ||
		complain "$program: no stack protector"
	grep -q '_chk@' <<<"$symbols" || complain "$program: no _FORTIFY_SOURCE"
done
if grep -q '"command":.*-DNDEBUG' "$RS_BUILD/compile_commands.json"; then
	complain "-DNDEBUG is set: asserts must stay on"
fi
echo "$count programs"
exit $bad
