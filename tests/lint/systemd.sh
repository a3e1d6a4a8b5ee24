#!/bin/bash
# The unit and the drop-ins are what systemd takes, and nothing in them makes
# a mount namespace: the mail server would see an empty directory.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need_build
need systemd-analyze

bad=0
complain()
{
	echo "$*" >&2
	bad=1
}

# systemd.exec(5): what gives a unit a file system of its own.
namespace='RootDirectory|RootImage|RootImageOptions|RootEphemeral|RootHash
RootHashSignature|RootVerity|MountAPIVFS|ProtectProc|ProcSubset|BindPaths
BindReadOnlyPaths|MountImages|ExtensionImages|ExtensionDirectories
DynamicUser|ProtectSystem|ProtectHome|ReadWritePaths|ReadOnlyPaths
InaccessiblePaths|ExecPaths|NoExecPaths|TemporaryFileSystem|PrivateTmp
PrivateDevices|PrivateNetwork|NetworkNamespacePath|PrivateIPC
IPCNamespacePath|PrivateUsers|PrivatePIDs|PrivateMounts|MountFlags
ProtectHostname|ProtectClock|ProtectKernelTunables|ProtectKernelModules
ProtectKernelLogs|ProtectControlGroups|LogNamespace|LoadCredential
LoadCredentialEncrypted|SetCredential|SetCredentialEncrypted
ImportCredential|StateDirectory|CacheDirectory|LogsDirectory
RuntimeDirectory|ConfigurationDirectory|RestrictNamespaces|JoinsNamespaceOf'
namespace=$(tr '\n' '|' <<<"$namespace" | sed 's/|$//')

units=packaging/systemd
count=0
for file in "$units"/*.service "$units"/*.service.d/*.conf; do
	count=$((count + 1))
	! grep -nE "^[[:space:]]*($namespace)[[:space:]]*=" "$file" ||
		complain "'$file' would have a mount namespace of its own"
done
for file in "$units"/*.service.d/*.conf; do
	for key in BindsTo After; do
		grep -qE "^$key=rspool@[a-z0-9]+\.service$" "$file" ||
			complain "'$file' lacks $key="
	done
	! grep -qE '^(Upholds|Wants)=' "$file" ||
		complain "'$file' starts things without the mount"
done
grep -q '^Type=notify$' "$units/rspool@.service" ||
	complain "rspool@.service doesn't wait for the mount"

# The units as installed: their programs in place, the mail servers' units as
# far as the drop-ins need them.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r "$units"/* "$dir"
sed -i "s|/usr/sbin/|$RS_BUILD/tools/|" "$dir/rspool@.service"
names=(rspool@a.service rspool@b.service)
for drop in "$dir"/*.service.d; do
	unit=$(basename "$drop" .d)
	printf '[Service]\nExecStart=/bin/true\n' >"$dir/${unit/@-/@}"
	names+=("$unit")
done
said=$(SYSTEMD_UNIT_PATH="$dir:" SYSTEMD_LOG_LEVEL=warning \
	systemd-analyze verify --man=no --recursive-errors=no \
	"${names[@]/#/$dir/}" 2>&1) || complain "systemd-analyze verify: $said"
[ -z "$said" ] || complain "systemd-analyze verify says: $said"

# Installed elsewhere they name the programs that are there.
DESTDIR=$dir/root cmake --install "$RS_BUILD" --prefix /usr/local >/dev/null
lines=0
while read -r program; do
	lines=$((lines + 1))
	[ -x "$dir/root$program" ] ||
		complain "the installed rspool@.service names '$program'"
done < <(sed -n 's/^Exec[A-Za-z]*=-\?\([^ ]*\) .*/\1/p' \
	"$dir/root/usr/local/lib/systemd/system/rspool@.service")
[ $lines -gt 0 ] || complain "the installed rspool@.service runs nothing"
[ "$(readlink "$dir/root/sbin/mount.fuse.rspool")" = mount.rspool ] ||
	complain "a remount won't find its helper"
echo "$count files"
exit $bad
