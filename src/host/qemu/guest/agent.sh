#!/run/atoll/busybox sh
# Runs the agent as root. PID 1 starts it again if it ends.
# A separate process copies the host's input into a pipe, in 4 KiB pieces as the port delivers them. The agent reads the pipe and writes the port
# itself. The copying process stays outside the cgroup that the agent enters, because the agent looks for a command's stray processes there.
bb=/run/atoll/busybox
. /run/atoll/agent.env
cd /
exec 3<> /dev/virtio-ports/atoll.agent || { $bb sleep 1; exit 1; }
# Under emulation, compiled JavaScript must itself be translated again, which costs more than it saves. Measured without it: a command takes half the
# time, the first one after a start two thirds. A collection in a machine that was just restored costs it 20 ms, so young objects have more room, and
# code that ran once stays compiled.
read -r cmdline < /proc/cmdline
case $cmdline in
  *atoll.emulated*) compiling="--no-opt --no-maglev --no-sparkplug --single-threaded --min-semi-space-size=4 --no-flush-bytecode" ;;
  *) compiling= ;;
esac
# In the root of an image, the agent and its programs are in one folder with their loader and libraries (imageRoot.sh).
case $cmdline in
  *atoll.image*)
    own=/.atoll
    export ATOLL_AGENT_PROGRAMS=$own ATOLL_AGENT_SPAWNER=$own/spawner
    node="$bb chroot /run/atoll/image $own/ld.so --library-path $own/lib $own/node"
    agent=$own/agent.cjs
    ;;
  *)
    node=/usr/local/bin/node
    agent="/run/atoll/agent.*js"
    ;;
esac
/run/atoll/relay <&3 | {
  # When memory runs out, a command must die and not the agent. The agent resets this for the commands that it starts.
  echo -1000 > /proc/self/oom_score_adj
  exec $node --max-old-space-size=64 --v8-pool-size=0 --no-warnings $compiling $agent
}
