# shellcheck shell=bash
# shellcheck disable=SC2015,SC2154 # root, mnt, log, mta_dir are those of ../lib.sh
# Debian's Postfix as ../lib.sh wants it. What the package's postinst and its
# systemd unit do is done here by the same commands; main.cf and master.cf are
# the package's, with the settings below added.
# shellcheck disable=SC2034 # these are for ../lib.sh and ../killrun.sh
{
	mta_packages=postfix
	mta_spool=/var/spool/postfix
	mta_options=profile=postfix
	mta_paths="/etc/postfix /var/spool/postfix /var/lib/postfix"
	mta_volatile='pid public private'
	mta_queue_files='/(incoming|active|deferred)/'
	mta_retry_in_mtime=yes
}

mta_setup()
{
	local etc=$root/etc/postfix share=$root/usr/share/postfix

	root_user postfix "$mta_spool"
	root_group postdrop
	cp "$share/main.cf.debian" "$etc/main.cf"
	cp "$share/master.cf.dist" "$etc/master.cf"
	cp "$share/main.cf.dist" "$etc/main.cf.proto"
	cp "$share/master.cf.dist" "$etc/master.cf.proto"
	grep '^#' "$share/dynamicmaps.cf" >"$etc/dynamicmaps.cf"
	# Named in postfix-files, but not in the package.
	ln -s /usr/share/postfix/makedefs.out "$etc/makedefs.out"
	printf 'postmaster: root\n' >"$root/etc/aliases"
	postfix_configure
	in_root newaliases
	mkdir -p "$root/var/lib/postfix"
	in_root chown postfix:postfix /var/lib/postfix
	postfix_spool
}

# What goes where: all to smtp-sink, some domains to the sink that says no.
# Deferred mail is retried after seconds instead of minutes, and Postfix
# doesn't slow its clients down; everything that has to do with files is as
# the package has it.
postfix_configure()
{
	in_root postconf -e \
		'smtpd_relay_restrictions = permit_mynetworks permit_sasl_authenticated defer_unauth_destination' \
		'alias_maps = hash:/etc/aliases' \
		'alias_database = hash:/etc/aliases' \
		'myhostname = mail.rspool.test' \
		'myorigin = /etc/mailname' \
		'mydestination = mail.rspool.test, localhost' \
		'inet_interfaces = loopback-only' \
		'inet_protocols = ipv4' \
		'smtp_dns_support_level = disabled' \
		'relayhost = [127.0.0.1]:2525' \
		'transport_maps = inline:{{defer.test = smtp:[127.0.0.1]:2526},{bounce.test = smtp:[127.0.0.1]:2526},{stay.test = smtp:[127.0.0.1]:2526}}' \
		'queue_run_delay = 3s' \
		'minimal_backoff_time = 3s' \
		'maximal_backoff_time = 60s' \
		'smtpd_error_sleep_time = 0' \
		'in_flow_delay = 0'
}

# The directories with the owners and modes of the package: postinst's part
# first, then Postfix's own list of files.
postfix_spool()
{
	local dir

	for dir in incoming active bounce defer deferred flush saved corrupt \
	    private public maildrop pid; do
		mkdir -p "$mnt/$dir"
	done
	in_root postfix set-permissions >"$log/set-permissions" 2>&1 ||
		fail "postfix set-permissions"
	in_root chmod 1730 "$mta_spool/maildrop"
	in_root chown postfix:postdrop "$mta_spool/public"
	in_root chmod 2710 "$mta_spool/public"
	in_root chmod 2555 /usr/sbin/postdrop /usr/sbin/postqueue
}

# The two lines of postfix@.service.
mta_start()
{
	in_root /usr/lib/postfix/configure-instance.sh - \
		>>"$log/start" 2>&1 || fail "configure-instance.sh"
	in_root postmulti -i - -p start >>"$log/start" 2>&1 ||
		fail "postfix start"
	wait_for 30 listens 25 || fail "postfix doesn't listen"
}

mta_stop()
{
	in_root postmulti -i - -p stop >>"$log/start" 2>&1 ||
		fail "postfix stop"
	wait_for 30 root_empty || fail "postfix doesn't stop"
}

mta_kill()
{
	wait_for 20 root_kill_once || fail "postfix doesn't die"
}

# postsuper -s renames what isn't named by its inode; postfix check warns of
# a wrong owner or mode and of damaged mail. (It is run again, with
# output to the log, by postfix start.)
mta_ready()
{
	local before after

	# What SIGKILL leaves on any filesystem: a file just created, not yet
	# renamed to its queue id. postsuper calls its name bogus.
	find "$mnt/incoming" "$mnt/maildrop" -regex '.*/[0-9]+\.[0-9]+' -perm 0600 -size 0 \
		-print -delete >>"$log/unfinished"
	before=$(postfix_names)
	in_root postsuper -s 2>&1
	after=$(postfix_names)
	# Local mail may come in meanwhile: the same inode, another name.
	awk 'NR == FNR { name[$1] = $2 }
		NR != FNR && $1 in name && name[$1] != $2 {
			print "renamed: " name[$1] " to " $2
		}' <(echo "$before") <(echo "$after")
	in_root /usr/lib/postfix/configure-instance.sh - 2>&1
	in_root postfix check 2>&1
	postfix_modes
}

# Name and inode of each queue file.
postfix_names()
{
	(cd "$mnt" && find incoming active deferred hold corrupt defer bounce \
		maildrop -type f -printf '%i %p\n' 2>/dev/null | sort) || true
}

# Owner and mode of the directories and of each file in the queue. 0600 is a
# file that was being written; it was never acknowledged.
postfix_modes()
{
	(cd "$root$mta_spool" && chroot "$root" /usr/bin/find "$mta_spool" \
		-mindepth 1 -maxdepth 1 -type d -printf '%f %u:%g %m\n') |
		grep -vxF -f <(cat <<-END
		active postfix:root 700
		bounce postfix:root 700
		corrupt postfix:root 700
		defer postfix:root 700
		deferred postfix:root 700
		flush postfix:root 700
		hold postfix:root 700
		incoming postfix:root 700
		maildrop postfix:postdrop 1730
		pid root:root 755
		private postfix:root 700
		public postfix:postdrop 2710
		saved postfix:root 700
		trace postfix:root 700
		etc root:root 755
		lib root:root 755
		usr root:root 755
		dev root:root 755
		${postfix_more_dirs:-}
		END
		) | sed 's/^/wrong owner or mode: /' || true
	in_root find "$mta_spool/incoming" "$mta_spool/active" \
		"$mta_spool/deferred" -type f \
		! \( -user postfix -group postfix -a \
		\( -perm 0700 -o -perm 0600 \) \) \
		-printf 'wrong owner or mode: %P %u:%g %m\n'
}

mta_queue()
{
	local path

	while read -r path; do
		in_root postcat -hb "$path" >"$1/${path##*/}.eml" \
			2>>"$log/postcat" || fail "postcat '$path'"
	done < <(in_root find "$mta_spool/incoming" "$mta_spool/active" \
		"$mta_spool/deferred" "$mta_spool/maildrop" -type f \
		-perm /100)
}

# Complete mail only: what isn't executable was being written when Postfix
# died; it was never acknowledged, and Postfix removes it after a day.
mta_pending()
{
	{ find "$mnt"/{incoming,active,deferred,maildrop} -type f \
		-perm /100 2>/dev/null || true; } | wc -l
}

# Postfix's own times again, so that a retry is minutes away.
mta_retry_later()
{
	in_root postconf -e 'minimal_backoff_time = 300s' \
		'maximal_backoff_time = 4000s'
	in_root postmulti -i - -p reload >>"$log/start" 2>&1 ||
		fail "postfix reload"
}

mta_flush()
{
	in_root postqueue -f
}

# smtp-sink dumps each message to a file of its own in the directory. Local
# mail comes from a user, through the set-group-id postdrop.
mta_sink()
{
	mkdir -p "$root/var/sink"
	mount --bind "$work/dumps" "$root/var/sink"
	chmod 777 "$work/dumps"
	background smtp-sink chroot "$root" /usr/sbin/smtp-sink -u nobody \
		${postfix_sink_wait:+-w "$postfix_sink_wait"} \
		-d /var/sink/m. 127.0.0.1:2525 200
	mta_submit=(chroot --userspec=nobody:nogroup "$root" /usr/sbin/sendmail
		-i -f local@sender.test)
}

mta_files()
{
	echo "$1"
}

# Held, released and tried again; one is shown and then deleted.
mta_tools()
{
	local ids name

	in_root postqueue -p | grep -q " in $1 Requests.\$" ||
		fail "postqueue -p doesn't show $1 messages"
	[ "$(in_root postqueue -j | grep -c '"queue_id"')" = "$1" ] ||
		fail "postqueue -j doesn't show $1 messages"
	mapfile -t ids < <(in_root postqueue -j |
		sed -n 's/.*"queue_id": "\([^"]*\)".*/\1/p')
	name=$(in_root postcat -hq "${ids[0]}" |
		sed -n 's/^X-Rspool-Id: //p')
	in_root postsuper -h "${ids[1]}" >>"$log/tools" 2>&1 &&
		in_root postqueue -p | grep -q "^${ids[1]}!" ||
		fail "postsuper -h"
	in_root postsuper -H "${ids[1]}" >>"$log/tools" 2>&1 &&
		in_root postqueue -i "${ids[1]}" >>"$log/tools" 2>&1 ||
		fail "postsuper -H"
	in_root postsuper -d "${ids[0]}" >>"$log/tools" 2>&1 ||
		fail "postsuper -d"
	wait_for 30 postfix_deferred $(($1 - 1)) ||
		fail "the released message isn't deferred again"
	echo "$name"
}

postfix_deferred()
{
	[ "$(find "$mnt/deferred" -type f -newermt now | wc -l)" = "$1" ]
}
