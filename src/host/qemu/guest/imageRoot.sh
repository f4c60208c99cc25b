#!/run/atoll/busybox sh
# sysinit.sh runs this where the Sandbox starts from an image, the third disk. PID 1 keeps the root disk; the agent, and so every command, gets the image
# as its root, below /run/atoll/image. What is written there is on the root disk, as without an image.
bb=/run/atoll/busybox
root=/run/atoll/image
own=/usr/lib/atoll
tries=0
while [ ! -b /dev/vdc ] && [ $tries -lt 100 ]; do $bb usleep 20000; tries=$((tries + 1)); done
$bb mkdir -p /.image/files /.image/written /.image/work $root
$bb mount -t squashfs -o ro,nosuid,nodev /dev/vdc /.image/files || { echo "atoll: the image cannot be mounted"; $bb poweroff -f; }
$bb mount -t overlay -o nosuid,nodev,noatime,lowerdir=/.image/files,upperdir=/.image/written,workdir=/.image/work image $root ||
  { echo "atoll: the image's root cannot be mounted"; $bb poweroff -f; }
$bb chmod 1777 $root/tmp
for name in dev proc sys; do $bb mount --rbind /$name $root/$name; done
$bb mount -t tmpfs -o mode=755,size=32m,nosuid,nodev run $root/run
# boot.c mounts the volume later, at /workspace of the root disk. Shared mounts show it in the image's root, too.
$bb mount --bind /workspace /workspace
$bb mount --make-shared /workspace
$bb mount --bind /workspace $root/workspace
# boot.c writes these in place.
for name in hostname hosts resolv.conf; do
  [ -e /run/atoll/$name ] || : > /run/atoll/$name
  $bb mount --bind /run/atoll/$name $root/etc/$name
done
$bb cp /run/atoll/agent.*js $own/agent.cjs
$bb cp /run/atoll/spawner $own/spawner
$bb mount --bind $own $root/.atoll
