# shellcheck shell=bash
# shellcheck disable=SC2034 # variables for the scripts
# lib_disk.sh - a store on a simulated disk that can lose power. Source it
# instead of lib.sh, before anything else:
#
#	disk_store --capacity 32M ...   disk and store, with options of init
#	power_cut SEED                  the power goes with all that runs, and
#	                                comes back; up mounts again
#
# shellcheck source=../disk/disk.sh
. "$(dirname "$0")/../disk/disk.sh"
disk_own_mounts "$0" "$@"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

disk_store()
{
	disk_start "$work/disk.img" 400M --preset none
	set_traps
	disk_mkfs ext4
	disk_mount -o noatime
	store=$DISK_MNT/store
	"$ctl" init "$store" --ring-size 16M "$@" >/dev/null
	sync -f "$DISK_MNT"
}

power_cut()
{
	disk_cut "$1"
	kill -KILL "$daemon"
	wait_for 60 ended "$daemon" || fail "can't kill the daemon"
	umount -l "$mnt"
	disk_reopen
	store=$DISK_MNT/store
}
