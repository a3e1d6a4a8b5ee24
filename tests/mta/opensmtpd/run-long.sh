#!/bin/bash
# run.sh with 20 power cuts.
# timeout: 3000
# labels: long kill
# lock: mta
exec bash "$(dirname "$0")/run.sh" --messages 2500 --kills 5 --cuts 19 "$@"
