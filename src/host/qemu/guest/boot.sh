#!/run/atoll/busybox sh
# Turns a clone of a template into one particular machine. The host writes a line; this script acts on it and answers with a line.
#
#   identity TOKEN TIME HOSTNAME MACHINE_ID SEED NAMESERVER|-   clock, names, entropy, volume, network
#   name TOKEN TIME HOSTNAME                                    clock and host name, for a machine that got its identity before its owner
#   clock TOKEN TIME                                            after a sleep
#   adjustment TOKEN                                            how the kernel adjusts the clock: the answer is `TOKEN ready TICK FREQUENCY`
#   adjust TOKEN TIME TICK FREQUENCY                            has the kernel adjust the clock so, and sets it (adjtimex(2))
#   flush TOKEN                                                 writes everything to the volume
#   halt TOKEN                                                  the same, and powers off
#
# The answer is `TOKEN ready` or `TOKEN failed WHY`; to halt there is none. TIME is a struct timespec as printf escapes.
# Few processes, because each costs some 30 ms in a guest that was just restored under TCG.
bb=/run/atoll/busybox
port=/dev/virtio-ports/atoll.boot
answer() { echo "$token $*" >&3; }
set_clock() {
  printf "$1" > /run/atoll/now
  /run/atoll/settime < /run/atoll/now
}
# Sets $tick and $frequency.
read_adjustment() {
  tick= frequency=
  $bb adjtimex > /run/atoll/now
  while read -r option field value unit; do
    case $option in
      -t) tick=$value ;;
      -f) frequency=$value ;;
    esac
  done < /run/atoll/now
}
set_name() {
  echo "$hostname" > /proc/sys/kernel/hostname
  echo "$hostname" > /run/atoll/hostname
  printf '127.0.0.1 localhost %s\n::1 localhost %s\n' "$hostname" "$hostname" > /run/atoll/hosts
}
exec 3<> $port || { $bb sleep 1; exit 1; }
/run/atoll/relay <&3 | while read -r verb token time hostname machine_id seed nameserver; do
  case $verb in
    identity)
      set_clock "$time"
      set_name
      echo "$machine_id" > /run/atoll/machine-id
      echo "$seed" > /dev/urandom
      if [ "$nameserver" != - ]; then
        echo "nameserver $nameserver" > /run/atoll/resolv.conf
        $bb ip addr add 10.0.3.15/24 dev eth0
        $bb ip link set eth0 up
        $bb ip route add default via 10.0.3.2
      fi
      if $bb mount -t ext4 -o noatime,nosuid,nodev,noinit_itable,discard /dev/vdb /workspace 2> /run/atoll/why; then
        answer ready
      else
        read -r why < /run/atoll/why
        answer failed "$why"
      fi
      ;;
    name)
      set_clock "$time"
      set_name
      answer ready
      ;;
    clock)
      set_clock "$time"
      answer ready
      ;;
    adjustment)
      read_adjustment
      answer ready "$tick" "$frequency"
      ;;
    adjust)
      # This line's words after the time.
      tick=$hostname frequency=$machine_id
      if $bb adjtimex -q -t "$tick" -f "$frequency" 2> /run/atoll/why; then
        set_clock "$time"
        answer ready
      else
        read -r why < /run/atoll/why
        answer failed "$why"
      fi
      ;;
    flush)
      $bb sync
      answer ready
      ;;
    halt)
      echo 1 > /sys/fs/cgroup/sandbox/cgroup.kill
      $bb mount -o remount,ro /workspace || $bb sync
      $bb poweroff -f
      ;;
  esac
done
