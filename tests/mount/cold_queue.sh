#!/bin/bash
# 256 MiB of queue with ram=32M: correct, and no more memory than that and
# what the daemon has beside ram (48M, see rspoold(8)).
# timeout: 240
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cold.sh
. "$(dirname "$0")/lib_cold.sh"

cold_queue 256 32 16 $((32 + 48))
