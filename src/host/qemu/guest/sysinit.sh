#!/run/atoll/busybox sh
# What PID 1 does first, the same in a template and in a cold boot. Nothing here may differ between two Sandboxes.
bb=/run/atoll/busybox
$bb mount -t sysfs -o nosuid,nodev,noexec sys /sys
$bb mkdir -p /dev/pts /dev/shm /dev/virtio-ports
$bb mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
$bb mount -t tmpfs -o mode=1777,nosuid,nodev,size=25% shm /dev/shm
$bb ln -sfn /proc/self/fd /dev/fd
$bb ln -sf /proc/self/fd/0 /dev/stdin
$bb ln -sf /proc/self/fd/1 /dev/stdout
$bb ln -sf /proc/self/fd/2 /dev/stderr
$bb chmod 666 /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx
$bb mount -t cgroup2 -o nosuid,nodev,noexec,nsdelegate,favordynmods cgroup2 /sys/fs/cgroup
echo "+cpu +memory +pids +io" > /sys/fs/cgroup/cgroup.subtree_control
# The agent and below it a threaded cgroup for each command. With the processor shared among those, the agent has its part however many
# processes a command starts, and can end them.
$bb mkdir /sys/fs/cgroup/sandbox
echo "+cpu +pids" > /sys/fs/cgroup/sandbox/cgroup.subtree_control
# This much is left to the kernel and to PID 1, so running out of memory ends a command, not the machine.
set -- $($bb grep MemTotal /proc/meminfo)
echo $(($2 * 1024 - 64 * 1024 * 1024)) > /sys/fs/cgroup/sandbox/memory.max
. /run/atoll/agent.env
echo "$ATOLL_SANDBOX_PROCESSES" > /sys/fs/cgroup/sandbox/pids.max
for port in /sys/class/virtio-ports/*; do
  [ -e "$port/name" ] && $bb ln -s "/dev/${port##*/}" "/dev/virtio-ports/$($bb cat "$port/name")"
done
# The kernel looked for partitions on what will be another disk in each clone; nothing of that may stay in its cache.
$bb blockdev --flushbufs /dev/vdb
$bb ip link set lo up
printf '127.0.0.1 localhost\n::1 localhost\n' > /run/atoll/hosts
$bb hostname sandbox
echo 1 > /proc/sys/kernel/dmesg_restrict
echo 2 > /proc/sys/kernel/kptr_restrict
echo 0 > /proc/sys/kernel/sysrq
echo 1 > /proc/sys/kernel/unprivileged_bpf_disabled
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
# `ping` without a capability.
echo "0 2147483647" > /proc/sys/net/ipv4/ping_group_range
