#!/bin/bash
# A write or a flush of the store's disk fails under Postfix with mail in
# active, and Postfix goes on with the read-only spool; then restart and
# recovery. No recipient gets more than one copy more, nothing is lost.
# timeout: 300
# labels: slow kill
# lock: mta
# Each delivery takes a second, so that some are under way.
export postfix_sink_wait=1
exec bash "$(dirname "$0")/run.sh" --messages 200 --rate 40 --kills 0 --poisons 1 \
	--local 10 "$@"
