#!/bin/bash
# 200 power cuts over all filesystems and modes, see run_cut.sh.
# timeout: 7200
# labels: long kill
# lock: crash
set -euo pipefail

exec bash "$(dirname "$0")/run_cut.sh" --long "${1:-200}"
