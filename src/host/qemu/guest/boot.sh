#!/run/atoll/busybox sh
# The host's rare requests, for boot.c, which explains them: `boot.sh VERB TOKEN …`. Descriptor 3 is the port to the host.
#
#   adjustment TOKEN                      how the kernel adjusts the clock: the answer is `TOKEN ready TICK FREQUENCY`
#   adjust TOKEN TIME TICK FREQUENCY      has the kernel adjust the clock so, and sets it (adjtimex(2))
#   halt TOKEN                            writes everything to the volume, and powers off; there is no answer
bb=/run/atoll/busybox
token=$2
answer() { echo "$token $*" >&3; }
case $1 in
  adjustment)
    tick= frequency=
    $bb adjtimex > /run/atoll/now
    while read -r option field value unit; do
      case $option in
        -t) tick=$value ;;
        -f) frequency=$value ;;
      esac
    done < /run/atoll/now
    answer ready "$tick" "$frequency"
    ;;
  adjust)
    if $bb adjtimex -q -t "$4" -f "$5" 2> /run/atoll/why; then
      printf "$3" > /run/atoll/now
      /run/atoll/settime < /run/atoll/now
      answer ready
    else
      read -r why < /run/atoll/why
      answer failed "$why"
    fi
    ;;
  halt)
    echo 1 > /sys/fs/cgroup/sandbox/cgroup.kill
    $bb mount -o remount,ro /workspace || $bb sync
    $bb poweroff -f
    ;;
esac
