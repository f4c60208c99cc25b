#!/bin/sh
# Prepares a container before Atoll starts in it: adds what a host has and a container lacks. Atoll itself reports what cannot be done here.

# A container without Sandboxes needs none of it.
[ "$ATOLL_ROLE" = service ] && exec "$@"

# A container hides parts of its /proc, and the kernel mounts no /proc for a Sandbox until the container sees a whole one.
if grep -q '^[^ ]* /proc/' /proc/self/mounts; then
  mkdir -p /run/whole-proc
  mount -t proc -o nosuid,nodev,noexec proc /run/whole-proc
fi

# The container's own cgroups, which limit the Sandboxes: writable only in a privileged container.
while read -r _ path type options _; do
  case "$type $options" in
    "cgroup ro,"* | "cgroup2 ro,"*) mount -o remount,bind,rw "$path" ;;
  esac
done < /proc/self/mounts

# Version 2 gives no controllers to the children of a cgroup with processes, as this container's is (only the host's root is exempt): so the processes move one level down.
if [ -w /sys/fs/cgroup/cgroup.procs ] && [ -e /sys/fs/cgroup/cgroup.type ]; then
  mkdir -p /sys/fs/cgroup/service
  while read -r pid; do
    echo "$pid" > /sys/fs/cgroup/service/cgroup.procs
  done < /sys/fs/cgroup/cgroup.procs
fi

# /dev has the loop devices from when the container was made; each running Sandbox takes one.
if [ -c /dev/loop-control ]; then
  for number in $(seq 0 255); do
    [ -b "/dev/loop$number" ] || mknod -m 660 "/dev/loop$number" b 7 "$number" || break
  done
fi

exec "$@"
