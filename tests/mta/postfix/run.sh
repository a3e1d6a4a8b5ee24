#!/bin/bash
# Debian's Postfix with its queue on rspool: the daemon killed, the power of its disk
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
# shellcheck source=postfix.sh
. "$here/postfix.sh"
# shellcheck source=../killrun.sh
. "$here/../killrun.sh"

mta_enter
[ $# -gt 0 ] || set -- --messages 1000 --kills 2 --cuts 2
killrun "$@"
