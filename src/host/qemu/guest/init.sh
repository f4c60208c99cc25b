#!/bin/busybox sh
# The initramfs: mounts the root disk, copies Atoll's files into the guest's /run, and starts PID 1.
bb=/bin/busybox
$bb mount -t devtmpfs dev /dev
$bb mount -t proc proc /proc
for module in /modules/*.ko; do $bb insmod "$module" 2>/dev/null; done
tries=0
while [ ! -b /dev/vda ] && [ $tries -lt 100 ]; do $bb usleep 20000; tries=$((tries + 1)); done
$bb mount -t ext4 -o rw,noatime,discard /dev/vda /root || { echo "atoll: no root disk"; $bb poweroff -f; }
$bb mount -t tmpfs -o mode=755,size=32m,nosuid,nodev run /root/run
$bb cp -a /atoll /root/run/atoll
$bb mv /root/run/atoll/inittab /root/etc/inittab
$bb mount --move /dev /root/dev
$bb mount --move /proc /root/proc
exec $bb switch_root /root /run/atoll/init
