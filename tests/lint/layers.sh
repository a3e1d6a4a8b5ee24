#!/bin/bash
# The layers include < journal < fs core < fs ll < tools: who includes what.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need python3

files 'include/*.[ch]' 'journal/*.[ch]' 'fs/*.[ch]' 'tools/*.[ch]' |
	python3 tests/lint/layers.py
