# shellcheck shell=bash
# shellcheck disable=SC2015,SC2154 # root, mnt, log, mta_dir are those of ../lib.sh
# Debian's Exim as ../lib.sh wants it: what the postinst scripts of exim4-base
# and exim4-config do is done here by the same commands, and the configuration
# is Debian's, made by update-exim4.conf, with the macros and the retry rule
# below.
# shellcheck disable=SC2034 # these are for ../lib.sh and ../killrun.sh
{
	mta_packages=exim4-daemon-light
	mta_spool=/var/spool/exim4
	mta_options=profile=exim
	mta_paths="/etc/exim4 /var/spool/exim4 /var/log/exim4 /var/lib/exim4
		/etc/default/exim4"
	mta_queue_files='/input/.*-H$'
	mta_retry_in_mtime=no
}

mta_setup()
{
	root_user Debian-exim "$mta_spool"
	# What dpkg leaves to postinst.
	mkdir -p "$log/exim" "$root/var/log/exim4"
	mount --bind "$log/exim" "$root/var/log/exim4"
	in_root install -d -oDebian-exim -gadm -m2750 /var/log/exim4
	in_root install -d -oDebian-exim -gDebian-exim -m750 /run/exim4 \
		/var/lib/exim4 "$mta_spool" "$mta_spool/db" \
		"$mta_spool/input" "$mta_spool/msglog"
	printf 'postmaster: root\n' >"$root/etc/aliases"
	exim_configure 3s
	mta_submit=(chroot --userspec=nobody:nogroup "$root"
		/usr/sbin/sendmail -i -f local@sender.test)
}

# exim_configure RETRY: a smarthost, which is the sink, no DNS, more sessions
# than Debian's 20; nothing that has to do with files.
exim_configure()
{
	local etc=$root/etc/exim4

	cat >"$etc/update-exim4.conf.conf" <<-END
	dc_eximconfig_configtype='satellite'
	dc_other_hostnames='mail.rspool.test'
	dc_local_interfaces='127.0.0.1'
	dc_readhost=''
	dc_relay_domains=''
	dc_minimaldns='false'
	dc_relay_nets=''
	dc_smarthost='10.25.0.1::2526'
	CFILEMODE='644'
	dc_use_split_config='true'
	dc_hide_mailname='false'
	dc_mailname_in_oh='true'
	dc_localdelivery='mail_spool'
	END
	cat >"$etc/conf.d/main/00_rspool-test" <<-END
	MAIN_HARDCODE_PRIMARY_HOSTNAME = mail.rspool.test
	smtp_accept_max = 200
	smtp_accept_max_per_host = 200
	rfc1413_query_timeout = 0s
	END
	sed -i "s/^\*  *\*  *F,.*/* * F,4d,$1/" "$etc/conf.d/retry/30_exim4-config"
	in_root update-exim4.conf >>"$log/start" 2>&1 ||
		fail "update-exim4.conf"
}

# As /etc/init.d/exim4 does, the queue runner more often. Exim stays in the
# foreground if its parent is process 1, as this script is in its namespace.
mta_start()
{
	in_root install -d -oDebian-exim -gDebian-exim -m750 /run/exim4
	(in_root /usr/sbin/exim4 -bd -q3s >>"$log/start" 2>&1 || exit 1) ||
		fail "exim4 -bd"
	wait_for 30 listens 25 || fail "exim doesn't listen"
}

mta_stop()
{
	kill -TERM "$(cat "$root/run/exim4/exim.pid")"
	wait_for 60 root_empty || fail "exim doesn't stop"
}

mta_kill()
{
	wait_for 20 root_kill_once || fail "exim doesn't die"
}

# What SIGKILL leaves on any filesystem: a -D file without its -H and an
# unfinished hdr.*, of mail that was not acknowledged; an -H without its -D, of
# mail that was delivered (Exim unlinks -D, -H, -J in this order), which
# exim -bp lists for ever.
exim_unfinished()
{
	local file

	find "$mnt/input" -name 'hdr.*' -print >>"$log/unfinished"
	for file in "$mnt"/input/*-H; do
		[ -e "$file" ] && [ ! -e "${file%-H}-D" ] || continue
		echo "$file" >>"$log/unfinished"
		rm -f "$file" "${file%-H}-J"
	done
}

# exim -bp complains of files that it can't read. Hints databases are tried
# with exim_dumpdb, as postinst does.
mta_ready()
{
	local file

	exim_unfinished
	in_root exim4 -bp 2>&1 | grep -iE 'spool read error|\*\*\*' || true
	for file in "$mnt"/db/*; do
		case $file in
		*.lockfile | "$mnt/db/*") continue ;;
		esac
		in_root exim_dumpdb "$mta_spool" "${file##*/}" >/dev/null \
			2>>"$log/dumpdb" || echo "hints: '${file##*/}'"
	done
	in_root find "$mta_spool" \( ! -user Debian-exim -o \
		! -group Debian-exim -o -perm /027 \) -printf \
		'wrong owner or mode: %P %u:%g %m\n' |
		grep -vE -e ' Debian-exim:Debian-exim (750|640)$' \
			-e '/[^/ ]*-J root:Debian-exim 640$' || true
}

# -D begins with its own name on a line, the header file has its own format;
# exim4 -Mvc shows the message as it would be sent, without changing it.
mta_queue()
{
	local id

	while read -r id; do
		in_root exim4 -Mvc "$id" >"$1/$id.eml" 2>>"$log/mvc" ||
			fail "exim4 -Mvc '$id'"
	done < <(exim_ids)
}

exim_ids()
{
	find "$mnt/input" -name '*-H' -printf '%f\n' 2>/dev/null |
		sed 's/-H$//'
}

mta_pending()
{
	exim_ids | wc -l
}

mta_files()
{
	local id=${1##*/}

	find "$mnt/input" "$mnt/msglog" -name "${id%-H}*"
}

mta_flush()
{
	in_root exim4 -qff
}

# The retry rule of Debian again.
mta_retry_later()
{
	exim_configure 15m
	kill -HUP "$(cat "$root/run/exim4/exim.pid")"
	sleep 1
	wait_for 30 listens 25 || fail "exim doesn't listen again"
}

mta_tools()
{
	local ids name

	[ "$(in_root exim4 -bpc)" = "$1" ] ||
		fail "exim4 -bpc says $(in_root exim4 -bpc), not $1"
	[ "$(in_root mailq | grep -c '<s-.*@sender.test>')" = "$1" ] ||
		fail "mailq doesn't show $1 messages"
	mapfile -t ids < <(exim_ids)
	name=$(in_root exim4 -Mvh "${ids[0]}" |
		sed -n 's/.*X-Rspool-Id: //p')
	in_root exim4 -Mvb "${ids[0]}" | grep -q . || fail "exim4 -Mvb"
	in_root exim4 -Mf "${ids[1]}" >>"$log/tools" 2>&1 &&
		in_root exim4 -bp | grep -q "${ids[1]}.*frozen" ||
		fail "exim4 -Mf"
	in_root exim4 -Mt "${ids[1]}" >>"$log/tools" 2>&1 || fail "exim4 -Mt"
	! in_root exim4 -bp | grep -q frozen || fail "still frozen"
	in_root exim4 -M "${ids[1]}" >>"$log/tools" 2>&1 || fail "exim4 -M"
	in_root exim4 -Mrm "${ids[0]}" >>"$log/tools" 2>&1 ||
		fail "exim4 -Mrm"
	echo "$name"
}
