#!/bin/sh
# Runs outside the new root ($1) at the end of mmdebstrap. Collects the files that boot the guest in $1/atoll, which the build copies out; compiles
# the small programs ($1/tmp/programs, $1/tmp/hostPrograms) there; and leaves the root as a guest sees it. Reads KERNEL_PACKAGE, MODULES, GUEST_USER, GUEST_UID
# from the environment.
set -eu
root=$1
export KERNEL_PACKAGE MODULES GUEST_USER GUEST_UID
chroot "$root" /bin/sh -eu <<'INSIDE'
cd /tmp
image=$(apt-cache depends "$KERNEL_PACKAGE" | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
apt-get download -q "$image" >/dev/null
dpkg-deb -x "$image"_*.deb kernel
mkdir -p /atoll/modules
cp kernel/boot/vmlinuz-* /atoll/vmlinuz
number=10
for module in $MODULES; do
  xz -dc "$(find kernel -name "$module.ko.xz")" > "/atoll/modules/$number-$module.ko"
  number=$((number + 1))
done
cp /bin/busybox /atoll/busybox
apt-get download -q tcc >/dev/null
dpkg-deb -x tcc_*.deb tcc
mkdir /atoll/programs /atoll/hostPrograms
for source in programs/*.c hostPrograms/*.c; do
  tcc/usr/bin/tcc -Btcc/usr/lib/x86_64-linux-gnu/tcc -nostdinc -nostdlib -static -o "/atoll/${source%.c}" "$source"
done
{
  dpkg-query -W -f '${Package} ${Version}\n'
  dpkg-deb -W --showformat '${Package} ${Version}\n' "$image"_*.deb
  dpkg-deb -W --showformat '${Package} ${Version}\n' tcc_*.deb
} > /atoll/packages.txt
rm -rf kernel "$image"_*.deb tcc tcc_*.deb programs hostPrograms
useradd --uid "$GUEST_UID" --user-group --home-dir /workspace --no-create-home --shell /bin/bash "$GUEST_USER"
mkdir -p /workspace
# The machine is the isolation boundary, and root in the guest stays inside it. `sudo` lets users install packages.
printf '%s ALL=(ALL:ALL) NOPASSWD: ALL\n' "$GUEST_USER" > "/etc/sudoers.d/$GUEST_USER"
chmod 440 "/etc/sudoers.d/$GUEST_USER"
rm -f /etc/machine-id
rm -f /var/lib/dbus/machine-id /etc/resolv.conf /etc/hostname /etc/hosts
for name in resolv.conf hostname hosts machine-id; do ln -sf /run/atoll/$name /etc/$name; done
rm -rf /var/cache/apt/* /var/cache/debconf/*-old /var/log/*
INSIDE
