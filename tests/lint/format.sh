#!/bin/bash
# Every C file is as clang-format 14 writes it. To mend: clang-format -i FILE
# timeout: 300
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need clang-format

mapfile -t sources < <(files '*.c' '*.h')
if [ ${#sources[@]} -gt 0 ]; then
	clang-format --dry-run -Werror --ferror-limit=3 "${sources[@]}"
fi
echo "${#sources[@]} files"
