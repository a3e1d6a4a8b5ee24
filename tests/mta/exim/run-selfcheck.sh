#!/bin/bash
# Does run.sh find what it looks for? See ../selfcheck.sh.
# timeout: 300
# lock: mta
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../selfcheck.sh
. "$here/../selfcheck.sh"
selfcheck "$here/run.sh"
