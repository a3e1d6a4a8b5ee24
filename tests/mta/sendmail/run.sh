#!/bin/bash
# Debian's sendmail with both queues on rspool: the daemon killed, the power of its disk
# cut in the traffic; none missing, none damaged.
# timeout: 600
# labels: slow kill
# lock: mta
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"
# shellcheck source=../power.sh
. "$here/../power.sh"
# shellcheck source=sendmail.sh
. "$here/sendmail.sh"
# shellcheck source=../killrun.sh
. "$here/../killrun.sh"

mta_enter
[ $# -gt 0 ] || set -- --messages 300 --kills 1 --cuts 2 --local 20
killrun "$@"
