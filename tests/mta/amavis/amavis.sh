# shellcheck shell=bash
# shellcheck disable=SC2154 # root, mnt, log are those of ../lib.sh
# Debian's amavis as the content filter of Postfix, for sourcing after
# ../postfix/postfix.sh. Postfix's queue and amavis' directories are in one
# mount: what kills it takes both.
#
#	client -> 25 Postfix -> 10024 amavis -> 10025 Postfix -> sinks
#	client -> 10026 amavis -> 10027 sink.py		amavis alone
#
# What the package's postinst and its unit do is done here by the same
# commands.
# shellcheck disable=SC2034 # these are for ../lib.sh and ../killrun.sh
{
	mta_packages='postfix amavisd-new'
	mta_options=profile=postfix+amavis
	mta_paths+=' /etc/amavis /var/lib/amavis'
	mta_volatile+=' tmp db'
	mta_client=(--zip)
	# After an accident the message can be before amavis and behind it.
	mta_verify=(--moved)
	postfix_more_dirs='tmp amavis:amavis 770
db amavis:amavis 750
virusmails amavis:amavis 750'
}
amavis=

# Postfix's own part of what is done here for both.
for amavis_part in setup start stop ready tools; do
	eval "postfix_only_$amavis_part$(declare -f "mta_$amavis_part" |
		sed '1s/^[a-z_]*//')"
done

# Ends the (sub)shell that calls it: its pid becomes the command's.
as_amavis()
{
	exec chroot --userspec=amavis:amavis "$root" /usr/bin/env -i LC_ALL=C \
		HOME=/var/lib/amavis PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

mta_setup()
{
	local home=$root/var/lib/amavis

	postfix_only_setup
	root_user amavis /var/lib/amavis
	mkdir "$home" "$mnt/tmp" "$mnt/db" "$mnt/virusmails"
	chmod 770 "$mnt/tmp"
	chmod 750 "$home" "$mnt/db" "$mnt/virusmails"
	in_root chown amavis:amavis /var/lib/amavis "$mta_spool/tmp" \
		"$mta_spool/db" "$mta_spool/virusmails"
	amavis_configure
	amavis_in_postfix
}

# No scanners are here; a rule for the name of a file within the zip file
# makes amavis unpack it, and say so.
amavis_configure()
{
	cat >"$root/etc/amavis/conf.d/50-user" <<-END
	use strict;
	\$myhostname = 'mail.rspool.test';
	\$TEMPBASE = '$mta_spool/tmp';
	\$db_home = '$mta_spool/db';
	\$QUARANTINEDIR = '$mta_spool/virusmails';
	\$ENV{TMPDIR} = \$TEMPBASE;
	@bypass_virus_checks_maps = (1);
	@bypass_spam_checks_maps = (1);
	\$banned_filename_re = new_RE(qr'^inside\\.txt\$');
	\$final_banned_destiny = D_PASS;
	\$banned_quarantine_to = undef;
	\$virus_admin = undef;
	\$inet_socket_port = [10024, 10026];
	\$interface_policy{'10026'} = 'ALONE';
	\$policy_bank{'ALONE'} = {
		forward_method => 'smtp:[127.0.0.1]:10027',
	};
	1;
	END
}

# As in amavis' README.postfix.
amavis_in_postfix()
{
	in_root postconf -e 'content_filter = smtp-amavis:[127.0.0.1]:10024'
	in_root postconf -M \
		'smtp-amavis/unix=smtp-amavis unix - - y - 2 smtp' \
		'127.0.0.1:10025/inet=127.0.0.1:10025 inet n - y - - smtpd'
	in_root postconf -P \
		'smtp-amavis/unix/smtp_data_done_timeout=1200' \
		'smtp-amavis/unix/smtp_send_xforward_command=yes' \
		'127.0.0.1:10025/inet/content_filter=' \
		'127.0.0.1:10025/inet/smtpd_recipient_restrictions=permit_mynetworks,reject' \
		'127.0.0.1:10025/inet/mynetworks=127.0.0.0/8' \
		'127.0.0.1:10025/inet/smtpd_authorized_xforward_hosts=127.0.0.0/8' \
		'127.0.0.1:10025/inet/receive_override_options=no_unknown_recipient_checks,no_header_body_checks'
}

# RuntimeDirectory=, ExecStartPre= and ExecStart= of amavis.service.
amavis_start()
{
	mkdir -p "$root/run/amavis"
	in_root chown amavis:amavis /run/amavis
	(as_amavis find "$mta_spool/tmp" -maxdepth 1 -name 'amavis-*' -type d \
		-exec rm -rf '{}' \;) >>"$log/start" 2>&1
	as_amavis amavisd foreground >>"$log/amavis" 2>&1 </dev/null &
	amavis=$!
	# It will be killed, which isn't worth a word.
	disown "$amavis"
	wait_for 60 listens 10024 || fail "amavis doesn't listen"
}

amavis_stop()
{
	kill -TERM "$amavis"
	wait_for 30 gone "$amavis" || fail "amavis doesn't stop"
}

mta_start()
{
	amavis_start
	postfix_only_start
}

mta_stop()
{
	amavis_stop
	postfix_only_stop
}

# The volatile ones are empty, and no hand was on them.
mta_ready()
{
	postfix_only_ready
	(cd "$mnt" && find tmp db -mindepth 1 -printf 'not empty: %p\n')
}

# Not before all are behind amavis, where they have other queue ids.
mta_tools()
{
	wait_for 60 postfix_deferred "$1" ||
		fail "amavis doesn't pass on deferred mail"
	postfix_only_tools "$1"
}
