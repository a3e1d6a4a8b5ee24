# shellcheck shell=bash
# shellcheck disable=SC2015,SC2154 # root, mnt, log, mta_dir are those of ../lib.sh
# Debian's OpenSMTPD as ../lib.sh wants it; postinst's users and the package's
# smtpd.conf with the sink as relay. The daemon makes its own directories.
# shellcheck disable=SC2034 # these are for ../lib.sh and ../killrun.sh
{
	mta_packages=opensmtpd
	mta_spool=/var/spool/smtpd
	mta_options=profile=opensmtpd
	mta_paths="/etc/smtpd.conf /var/spool/smtpd /var/lib/opensmtpd"
	mta_queue_files='/queue/.*/message$'
	mta_retry_in_mtime=no
	# smtpd leaves a connection unaccepted now and then, until another one
	# comes.
	mta_banner=5
}

mta_setup()
{
	root_user opensmtpd /var/lib/opensmtpd/empty
	root_user opensmtpq /var/lib/opensmtpd/empty
	in_root chown root:opensmtpq /usr/sbin/smtpctl
	in_root chmod 2755 /usr/sbin/smtpctl
	printf 'postmaster: root\n' >"$root/etc/aliases"
	chmod 711 "$mnt"
	sed -i -e 's/^listen on localhost/listen on 127.0.0.1/' \
		-e 's|^action "relay" relay$|action "relay" relay host smtp://10.25.0.1:2526|' \
		"$root/etc/smtpd.conf"
	mta_submit=(chroot --userspec=nobody:nogroup "$root"
		/usr/sbin/sendmail -f local@sender.test)
}

mta_start()
{
	(in_root /usr/sbin/smtpd >>"$log/start" 2>&1 || exit 1) ||
		fail "smtpd"
	wait_for 30 listens 25 || fail "smtpd doesn't listen"
	wait_for 30 opensmtpd_answers || fail "smtpctl gets no answer"
}

opensmtpd_answers()
{
	in_root smtpctl show stats >/dev/null 2>&1
}

# The parent is the only one that takes signals.
mta_stop()
{
	local pid

	for pid in $(root_pids); do
		if grep -qs '^PPid:.1$' "/proc/$pid/status"; then
			kill -TERM "$pid"
		fi
	done
	wait_for 60 root_empty || fail "smtpd doesn't stop"
}

mta_kill()
{
	wait_for 20 root_kill_once || fail "smtpd doesn't die"
}

# Envelopes that smtpd can't read it moves to corrupt/; what stands in
# incoming/ was never acknowledged, and smtpd removes it when it starts.
mta_ready()
{
	[ -d "$mnt/queue" ] || return 0
	find "$mnt" -path "$mnt/corrupt/*" -type f -printf 'corrupt: %P\n'
	find "$mnt/incoming" -type f -print >>"$log/unfinished"
	opensmtpd_pairs
	opensmtpd_modes
}

# A message without envelope is one whose last delivery was just crossed off.
opensmtpd_pairs()
{
	local dir

	for dir in "$mnt"/queue/*/*; do
		[ -d "$dir" ] || continue
		if [ -z "$(find "$dir" -name '????????????????')" ]; then
			echo "$dir" >>"$log/unfinished"
		elif [ ! -e "$dir/message" ]; then
			echo "envelope without message: ${dir#"$mnt/"}"
		fi
	done
}

opensmtpd_modes()
{
	in_root find "$mta_spool" -mindepth 1 -printf '%P %u:%g %m\n' |
		grep -vE \
		-e '^(corrupt|incoming|queue|temporary) opensmtpq:root 700$' \
		-e '^(purge|temporary)(/.*)? opensmtpq:(root|opensmtpq) [67]00$' \
		-e '^offline root:opensmtpq 770$' \
		-e '^offline/.* 600$' \
		-e '^(queue|incoming)/[^ ]* opensmtpq:(root|opensmtpq) [67]00$' |
		sed 's/^/wrong owner or mode: /' || true
}

opensmtpd_messages()
{
	local dir

	for dir in "$mnt"/queue/*/*; do
		[ -e "$dir/message" ] || continue
		[ -z "$(find "$dir" -name '????????????????' \
			2>/dev/null)" ] || echo "$dir"
	done
}

mta_queue()
{
	local dir

	while read -r dir; do
		cp "$dir/message" "$1/${dir##*/}.eml"
	done < <(opensmtpd_messages)
}

mta_pending()
{
	opensmtpd_messages | wc -l
}

mta_files()
{
	find "${1%/*}" -type f
}

# Its own retries begin after 400 seconds.
mta_flush()
{
	in_root smtpctl schedule all
}

mta_retry_later()
{
	:
}

mta_tools()
{
	local ids name

	[ "$(in_root smtpctl show queue | grep -c 'stay.test')" = "$1" ] ||
		fail "smtpctl show queue doesn't show $1 messages"
	mapfile -t ids < <(in_root smtpctl show queue | cut -d'|' -f1)
	name=$(in_root smtpctl show message "${ids[0]}" |
		sed -n 's/^X-Rspool-Id: //p' | tr -d '\r')
	in_root smtpctl show envelope "${ids[0]}" | grep -q '^sender: ' ||
		fail "smtpctl show envelope"
	in_root smtpctl pause envelope "${ids[1]}" >>"$log/tools" 2>&1 &&
		in_root smtpctl show queue | tee -a "$log/tools" | grep -q "^${ids[1]}|.*|suspend|" ||
		fail "smtpctl pause envelope"
	in_root smtpctl resume envelope "${ids[1]}" >>"$log/tools" 2>&1 &&
		in_root smtpctl schedule "${ids[1]}" >>"$log/tools" 2>&1 ||
		fail "smtpctl resume envelope"
	in_root smtpctl remove "${ids[0]}" >>"$log/tools" 2>&1 ||
		fail "smtpctl remove"
	echo "$name"
}
