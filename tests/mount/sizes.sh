#!/bin/bash
# ram, capacity and inodes raised and lowered, at a restart and while it
# serves; less than is in use is refused; more than the store was made for
# makes the store larger.
# labels: san
. "$(dirname "$0")/lib.sh"

# in numbers: capacity and inodes of the mount
sizes()
{
	echo "$(status space capacity) $(status inodes limit)"
}
refused()
{
	expect "$1" "$ctl" "${@:3}"
	one_line
	grep -q "$2" <<<"$err" || fail "'$2' is not in: $err"
}
mb=$((1 << 20))

"$ctl" init "$store" --ring-size 16M --capacity 16M --inodes 200 >/dev/null
up
for i in {1..100}; do
	: >"$mnt/$i"
done
head -c 10M /dev/urandom >"$mnt/mail"
sum=$(sha256sum <"$mnt/mail")

# --- while it serves
"$ctl" policy "$mnt" capacity=12M inodes=150 ram=64M
same "$((12 * mb)) 150" "$(sizes)" "lowered"
same $((64 * mb)) "$(status ram limit)" "ram"
expect 1 dd if=/dev/zero of="$mnt/more" bs=1M count=4
grep -q 'No space' <<<"$err" || fail "beyond the lowered capacity: $err"
rm "$mnt/more"
refused 1 'holds 10M, more than capacity=8.0M' policy "$mnt" capacity=8M
refused 1 'has 10[0-9] files, more than inodes=100' policy "$mnt" inodes=100
refused 1 'more than the' policy "$mnt" ram=200T
refused 2 'no size' policy "$mnt" ram=much
refused 1 'from 16M' policy "$mnt" ram=4K
refused 2 'amid sizes' policy "$mnt" ram=64M colour=red
# two of a kind: which was meant?
refused 2 'second policy' policy "$mnt" / fsync always
refused 2 'second limit' policy "$mnt" / limit=1M limit=2M
same "$((12 * mb)) 150" "$(sizes)" "after what was refused"
# RAM that holds data which is on disk can go
"$ctl" policy "$mnt" ram=16M
same "$sum" "$(sha256sum <"$mnt/mail")" "the mail with less RAM"
# beyond what the store was made for
before=$(stat -c '%b' "$store/data.mdb")
"$ctl" policy "$mnt" ram=64M capacity=64M inodes=400
same "$((64 * mb)) 400" "$(sizes)" "raised"
after=$(stat -c '%b' "$store/data.mdb")
[ $(((after - before) / 2048)) -ge 50 ] ||
	fail "the space was not reserved: $before to $after blocks"
head -c 40M /dev/urandom >"$mnt/large"
sync "$mnt/large"
large=$(sha256sum <"$mnt/large")
# the store is still ours alone
expect 1 "$ctl" recover "$store"
grep -q "in use by process $daemon" <<<"$err" || fail "the lock: $err"
refused 1 'no room' policy "$mnt" capacity=100T
sync_and_crash
up
same "$((64 * mb)) 400" "$(sizes)" "kept over a crash"
same "$large" "$(sha256sum <"$mnt/large")" "what was written there"
down

# --- at a restart
refused 1 'holds 50M, more than capacity=20M' \
	mount "$store" "$mnt" -o capacity=20M
up capacity=56M,inodes=300
same "$((56 * mb)) 300" "$(sizes)" "lowered at a restart"
down
up capacity=80M
same "$((80 * mb)) 400" "$(sizes)" "raised at a restart"
down
refused 1 'no room' mount "$store" "$mnt" -o capacity=100T
up ''
same "$((80 * mb)) 400" "$(sizes)" "as made larger"
same "$sum" "$(sha256sum <"$mnt/mail")" "the mail"
down
"$ctl" verify "$store" >/dev/null
