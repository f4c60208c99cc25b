#!/run/atoll/busybox sh
# The agent, as root. PID 1 starts it again if it ends.
#
# What the host sends is copied into a pipe by another process, in 4 KiB pieces as the port gives them; the agent reads the pipe and writes
# the port itself. The copying process stays outside of the cgroup that the agent moves into, where a command's strays are looked for.
bb=/run/atoll/busybox
. /run/atoll/agent.env
cd /
exec 3<> /dev/virtio-ports/atoll.agent || { $bb sleep 1; exit 1; }
# Under emulation compiled JavaScript is translated once more whenever it is made, which costs more than it saves: measured, a command
# takes half the time without, the first one after a start two thirds.
read -r cmdline < /proc/cmdline
case $cmdline in
  *atoll.emulated*) compiling="--no-opt --no-maglev --no-sparkplug --single-threaded" ;;
  *) compiling= ;;
esac
/run/atoll/relay <&3 | {
  # What runs out of memory is a command; the agent takes this back for what it starts.
  echo -1000 > /proc/self/oom_score_adj
  exec /usr/local/bin/node --max-old-space-size=64 --v8-pool-size=0 --no-warnings $compiling /run/atoll/agent.*js
}
