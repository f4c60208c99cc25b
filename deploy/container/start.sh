#!/bin/sh
# Before Atoll starts in a container: what a host has and a container has not. What cannot be done here, Atoll says itself.

# One that carries no Sandboxes needs none of it.
[ "$ATOLL_ROLE" = service ] && exec "$@"

# A container hides parts of its /proc, and as long as it sees no whole one the kernel mounts none for a Sandbox.
if grep -q '^[^ ]* /proc/' /proc/self/mounts; then
  mkdir -p /run/whole-proc
  mount -t proc -o nosuid,nodev,noexec proc /run/whole-proc
fi

# The container's own cgroups, by which the Sandboxes get their limits: writable only in one that is privileged.
while read -r _ path type options _; do
  case "$type $options" in
    "cgroup ro,"* | "cgroup2 ro,"*) mount -o remount,bind,rw "$path" ;;
  esac
done < /proc/self/mounts

# Version 2 gives controllers to no cgroup that has processes of its own, as this container's has (the host's root alone may): they move one down.
if [ -w /sys/fs/cgroup/cgroup.procs ] && [ -e /sys/fs/cgroup/cgroup.type ]; then
  mkdir -p /sys/fs/cgroup/service
  while read -r pid; do
    echo "$pid" > /sys/fs/cgroup/service/cgroup.procs
  done < /sys/fs/cgroup/cgroup.procs
fi

# /dev has the loop devices that there were when the container was made; each running Sandbox takes one.
if [ -c /dev/loop-control ]; then
  for number in $(seq 0 255); do
    [ -b "/dev/loop$number" ] || mknod -m 660 "/dev/loop$number" b 7 "$number" || break
  done
fi

exec "$@"
