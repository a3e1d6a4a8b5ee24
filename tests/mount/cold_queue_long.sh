#!/bin/bash
# 4 GiB of queue with ram=256M: correct, and within 15 % of ram.
# timeout: 3600
# labels: long
. "$(dirname "$0")/lib.sh"
# shellcheck source=lib_cold.sh
. "$(dirname "$0")/lib_cold.sh"

cold_queue 4096 256 64 $((256 * 115 / 100))
