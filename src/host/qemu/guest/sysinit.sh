#!/run/atoll/busybox sh
# PID 1 runs this first, in a template and in a cold boot alike. It must not do anything that differs between two Sandboxes.
bb=/run/atoll/busybox
$bb mount -t sysfs -o nosuid,nodev,noexec sys /sys
# The event of a new generation id (vmgenid). PID 1 reseeds the kernel itself when a copy gets its identity, before any program runs; the event would have
# the kernel interpret the firmware's byte code once more, which takes 10 ms under emulation.
echo disable > /sys/firmware/acpi/interrupts/gpe05
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
# The agent's cgroup, with a threaded cgroup below it for each command. The processor is shared among these, so the agent gets its share and can end
# a command however many processes it starts.
$bb mkdir /sys/fs/cgroup/sandbox
echo "+cpu +pids" > /sys/fs/cgroup/sandbox/cgroup.subtree_control
# Leaves this much memory to the kernel and PID 1, so that a shortage ends a command and not the machine.
set -- $($bb grep MemTotal /proc/meminfo)
echo $(($2 * 1024 - 64 * 1024 * 1024)) > /sys/fs/cgroup/sandbox/memory.max
. /run/atoll/agent.env
echo "$ATOLL_SANDBOX_PROCESSES" > /sys/fs/cgroup/sandbox/pids.max
for port in /sys/class/virtio-ports/*; do
  [ -e "$port/name" ] && $bb ln -s "/dev/${port##*/}" "/dev/virtio-ports/$($bb cat "$port/name")"
done
# The kernel has probed for partitions on a disk that differs in each clone. Its cache must keep nothing of that.
$bb blockdev --flushbufs /dev/vdb
$bb ip link set lo up
printf '127.0.0.1 localhost\n::1 localhost\n' > /run/atoll/hosts
$bb hostname sandbox
echo 1 > /proc/sys/kernel/dmesg_restrict
echo 2 > /proc/sys/kernel/kptr_restrict
echo 0 > /proc/sys/kernel/sysrq
echo 1 > /proc/sys/kernel/unprivileged_bpf_disabled
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
# Allows `ping` without a capability.
echo "0 2147483647" > /proc/sys/net/ipv4/ping_group_range
read -r cmdline < /proc/cmdline
case $cmdline in *atoll.image*) $bb sh /run/atoll/imageRoot.sh ;; esac
