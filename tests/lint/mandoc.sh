#!/bin/bash
# Manual pages as mandoc wants them: no warning.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need mandoc

mapfile -t pages < <(files 'packaging/man/*.[1-8]')
if [ ${#pages[@]} -gt 0 ]; then
	mandoc -Tlint -Wwarning "${pages[@]}"
fi
echo "${#pages[@]} pages"
