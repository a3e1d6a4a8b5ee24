# shellcheck shell=bash
# shellcheck disable=SC2154 # work, daemon, mnt: lib.sh's
# lib_trace.sh - the daemon's system calls while a client makes one call.
# Sourced after lib.sh.

# trace KIND CALL...: the daemon under strace while a client makes one call
trace()
{
	local kind=$1 tracer

	shift
	strace -f -tt -y -xx -s 48 -o "$work/trace" -p "$daemon" -e \
		trace=read,readv,write,writev,pwrite64,pwritev,pwritev2,fdatasync,fsync,io_submit \
		2>"$work/strace.err" &
	tracer=$!
	wait_for 30 grep -q attached "$work/strace.err" ||
		fail "strace: $(cat "$work/strace.err")"
	# A read that a worker was in when strace came may end untraced: some
	# requests that the daemon has to answer each time, and they are over.
	for _ in {1..20}; do
		stat -f "$mnt" >/dev/null
	done
	"$@"
	kill -INT $tracer
	# now and then it does not hear it
	wait_for 10 ended $tracer || kill -KILL $tracer
	wait $tracer || true
	cp "$work/trace" "$work/trace.$kind"
	python3 "$(dirname "$0")/fsync_trace.py" "$work/trace" "$kind" ||
		fail "the order of $*"
}
