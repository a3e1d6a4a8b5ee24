#!/bin/bash
# run.sh with 20 power cuts.
# timeout: 3000
# labels: long kill
# lock: mta
exec bash "$(dirname "$0")/run.sh" --messages 1000 --rate 20 --kills 3 --cuts 19 "$@"
