# shellcheck shell=bash
# shellcheck disable=SC2015,SC2154 # root, mnt, log, mta_dir are those of ../lib.sh
# Debian's sendmail as ../lib.sh wants it: both queues, mqueue of the daemon and
# mqueue-client of local submission, on one mount. The configuration is the
# package's sendmail.mc and submit.mc, owners and modes are update_sys's.
# shellcheck disable=SC2034 # these are for ../lib.sh and ../killrun.sh
{
	mta_packages=sendmail-bin
	mta_spool=/var/spool
	mta_options=profile=sendmail
	mta_paths="/etc/mail /var/spool /var/lib/sendmail /run/sendmail"
	mta_queue_files='/mqueue/qf[^/]*$'
	mta_retry_in_mtime=no
	sendmail_interval=3s
}

mta_setup()
{
	local name

	root_user smmta /var/lib/sendmail
	root_user smmsp /var/lib/sendmail
	# What update-alternatives and dpkg-statoverride do.
	for name in sendmail sendmail-mta sendmail-msp; do
		ln -sf ../libexec/sendmail/sendmail "$root/usr/sbin/$name"
	done
	for name in mailq newaliases; do
		ln -sf ../libexec/sendmail/$name "$root/usr/bin/$name"
	done
	in_root chown root:smmsp /usr/libexec/sendmail/sendmail
	in_root chmod 2755 /usr/libexec/sendmail/sendmail
	in_root install -d -osmmta -gsmmsp -m2750 "$mta_spool/mqueue"
	in_root install -d -osmmsp -gsmmsp -m2770 "$mta_spool/mqueue-client"
	in_root install -d -osmmta -gsmmsp -m2755 /etc/mail /etc/mail/m4 \
		/run/sendmail /run/sendmail/mta /var/lib/sendmail
	in_root install -d -osmmsp -gsmmsp -m2775 /run/sendmail/msp
	in_root install -d -oroot -gsmmsp -m2755 \
		/var/lib/sendmail/host_status
	sendmail_configure
	mta_submit=(chroot --userspec=nobody:nogroup "$root"
		/usr/sbin/sendmail -i -f local@sender.test)
}

# Left out are the limits for clients that come often. Added: the sink as
# smart host, no DNS, relaying for the test, no limit by load, no memory of one
# refusal that would hold up all mail, since all goes to one host; nothing that
# has to do with files.
sendmail_configure()
{
	local etc=$root/etc/mail mc=$root/usr/share/sendmail/cf/debian

	: >"$etc/m4/dialup.m4"
	: >"$etc/m4/provider.m4"
	cat >"$etc/common.m4" <<-'END'
	FEATURE(`nocanonify')dnl
	define(`confDONT_PROBE_INTERFACES', `True')dnl
	define(`confDOMAIN_NAME', `mail.rspool.test')dnl
	define(`confSERVICE_SWITCH_FILE', `/etc/mail/switch')dnl
	END
	cat >"$etc/daemon.m4" <<-'END'
	include(`/etc/mail/common.m4')dnl
	FEATURE(`accept_unresolvable_domains')dnl
	FEATURE(`promiscuous_relay')dnl
	define(`SMART_HOST', `[10.25.0.1]')dnl
	define(`RELAY_MAILER_ARGS', `TCP $h 2526')dnl
	define(`confQUEUE_LA', `900')dnl
	define(`confREFUSE_LA', `900')dnl
	define(`confTO_IDENT', `0')dnl
	define(`confTO_HOSTSTATUS', `1s')dnl
	END
	# shellcheck disable=SC2016
	sed -e '/conncontrol\|ratecontrol\|greet_pause\|CONNECTION_RATE/d' \
		-e '/^MAILER_DEFINITIONS/i include(`/etc/mail/daemon.m4'\'')' \
		"$mc/sendmail.mc" >"$etc/sendmail.mc"
	# shellcheck disable=SC2016 # m4's quotes
	sed -e '/^FEATURE(`msp/i include(`/etc/mail/common.m4'\'')' \
		"$mc/submit.mc" >"$etc/submit.mc"
	printf 'hosts\tfiles\naliases\tfiles\n' >"$etc/switch"
	printf 'localhost\nmail.rspool.test\n' >"$etc/local-host-names"
	: >"$etc/access"
	printf 'postmaster: root\n' >"$root/etc/mail/aliases"
	in_root sh -c 'cd /etc/mail && m4 sendmail.mc >sendmail.cf &&
		m4 submit.mc >submit.cf && chown root:smmsp *.cf &&
		/usr/libexec/sendmail/makemap hash access <access' \
		>>"$log/start" 2>&1 || fail "sendmail's configuration"
	in_root newaliases >>"$log/start" 2>&1 || fail "newaliases"
}

# The daemon and the runner of the client queue, as /etc/init.d/sendmail. The
# daemon tries deferred mail more often.
mta_start()
{
	(in_root /usr/sbin/sendmail-mta -Am -L sm-mta -bd \
		"-q$sendmail_interval" >>"$log/start" 2>&1 || exit 1) ||
		fail "sendmail -bd"
	(in_root /usr/sbin/sendmail-msp -Ac -L sm-msp-queue -q3s \
		>>"$log/start" 2>&1 || exit 1) || fail "sendmail -Ac -q"
	wait_for 30 listens 25 || fail "sendmail doesn't listen"
}

mta_stop()
{
	local pid

	for pid in "$root"/run/sendmail/*/*.pid; do
		kill -TERM "$(head -n 1 "$pid")" || true
	done
	wait_for 60 root_empty || fail "sendmail doesn't stop"
}

mta_kill()
{
	wait_for 20 root_kill_once || fail "sendmail doesn't die"
}

# A Qf file is one that sendmail could not make sense of. What SIGKILL leaves
# on any filesystem: a df without its qf or with an empty one, and a tf that was
# to become a qf, of mail that was not acknowledged; a qf whose df is gone, of
# mail that was delivered (sendmail unlinks df, then qf).
mta_ready()
{
	local file

	find "$mnt" -name '[Qh]f*' -printf 'bad queue file: %P\n'
	for file in "$mnt"/mqueue*/qf*; do
		[ -e "$file" ] || continue
		if [ ! -s "$file" ] || [ ! -e "${file/\/qf//df}" ]; then
			echo "$file" >>"$log/unfinished"
			rm -f "$file"
		fi
	done
	find "$mnt" -name 'tf*' -print >>"$log/unfinished"
	in_root mailq -Am 2>&1 | grep -iE 'unknown|error|bad' ||
		true
	sendmail_modes
}

sendmail_modes()
{
	(cd "$root$mta_spool" && in_root find "$mta_spool" -mindepth 1 \
		-printf '%P %u:%g %m\n') | grep -vE \
		-e '^mqueue smmta:smmsp 2750$' \
		-e '^mqueue-client smmsp:smmsp 2770$' \
		-e '^mqueue/..[^ ]* (root|smmta):smmsp (600|640)$' \
		-e '^mqueue-client/..[^ ]* (smmsp|nobody):smmsp 660$' |
		sed 's/^/wrong owner or mode: /' || true
}

sendmail_ids()
{
	local file

	for file in "$mnt"/mqueue*/qf*; do
		if [ -e "${file/\/qf//df}" ]; then
			echo "${file#"$mnt/"}"
		fi
	done
}

mta_queue()
{
	local file name

	while read -r file; do
		name=${file#*/qf}
		"$python" "$mta_dir/sendmail/qf.py" "$mnt/$file" \
			"$mnt/${file/\/qf//df}" >"$1/$name.eml" ||
			fail "'$file'"
	done < <(sendmail_ids)
}

mta_pending()
{
	sendmail_ids | wc -l
}

mta_files()
{
	find "${1%/*}" -name "?f${1##*/qf}"
}

mta_flush()
{
	in_root sendmail-msp -Ac -q
	in_root sendmail-mta -Am -q
}

mta_retry_later()
{
	mta_stop
	sendmail_interval=1h
	mta_start
}

# sendmail itself has no command that removes a message; Debian has qtool.pl.
mta_tools()
{
	local ids name

	in_root mailq -Am | grep -qE "Total requests: $1\$" ||
		fail "mailq doesn't show $1 messages"
	mapfile -t ids < <(sendmail_ids | sed 's/.*\/qf//')
	name=$(sed -n 's/^H.*X-Rspool-Id: //p' "$mnt/mqueue/qf${ids[0]}")
	in_root sendmail-mta -Am "-qI${ids[1]}" -Qheld >>"$log/tools" 2>&1 &&
		in_root mailq -Am -qQ | grep -q "^${ids[1]}" ||
		fail "sendmail -Q doesn't hold a message"
	in_root sendmail-mta -Am -qQ "-qI${ids[1]}" -Q >>"$log/tools" 2>&1 &&
		in_root mailq -Am | grep -q "^${ids[1]}" ||
		fail "sendmail -Q doesn't release a message"
	in_root sendmail-mta -Am "-qI${ids[1]}" >>"$log/tools" 2>&1 ||
		fail "sendmail -qI"
	in_root perl /usr/share/sendmail/qtool.pl -d \
		"$mta_spool/mqueue/${ids[0]}" >>"$log/tools" 2>&1 ||
		fail "qtool.pl -d"
	echo "$name"
}
