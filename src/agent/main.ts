/**
 * The agent: the process inside each Sandbox that carries out the service's requests. It uses only Node's own modules and is bundled to one file.
 *
 * Environment: `ATOLL_AGENT_LISTEN` (see listen.ts), `ATOLL_AGENT_GENERATION` (absent when it comes later by POST /v1/identity),
 * `ATOLL_AGENT_RUN_DIR` (writable scratch, default /run/atoll-agent), `ATOLL_AGENT_CGROUP` (a delegated cgroup v2 directory; the agent moves into
 * it), `ATOLL_AGENT_RUN_AS` (`uid:gid` of the commands; absent: the agent's own), `ATOLL_AGENT_USER` (their name), `ATOLL_AGENT_WORKSPACE`,
 * `ATOLL_AGENT_PROGRAMS` (a folder with the agent's own programs, see ownProgram.ts; absent: it has the Sandbox's), `ATOLL_AGENT_VCPUS` (the number of processors that commands should use; absent: they detect it), `ATOLL_AGENT_SPAWNER` (a program that starts
 * commands, see processes/SpawnerProgram.ts; absent: the agent does).
 */
import { join } from "node:path"
import { makeFileRoutes } from "./files/fileRoutes.ts"
import { healthRoutes } from "./health.ts"
import { leaveIdleHeap } from "./idleHeap.ts"
import { listen } from "./listen.ts"
import { ownProgram, shell } from "./ownProgram.ts"
import { makeCgroupTrees } from "./processes/CgroupTrees.ts"
import type { CommandHost } from "./processes/CommandHost.ts"
import { channelRoute } from "./processes/channelRoute.ts"
import { makeMarkedTrees } from "./processes/MarkedTrees.ts"
import { watchMemoryKills } from "./processes/memoryKills.ts"
import { launchByNode } from "./processes/NodeLaunch.ts"
import { withOpenInput } from "./processes/openInput.ts"
import { OutputPipes, type PipeOwner, runToEnd } from "./processes/outputPipes.ts"
import { ProcessTable } from "./processes/ProcessTable.ts"
import { processRoutes } from "./processes/processRoutes.ts"
import { openSpawnerProgram } from "./processes/SpawnerProgram.ts"
import { StartedKeys } from "./processes/StartedKeys.ts"
import { makeServer } from "./server.ts"

/** The first commands have probably ended by then, and the template of a machine is made later. */
const PREPARE_AFTER_MS = 300
/** Bounds the unread output of all commands together. */
const RETAINED_MAX_BYTES = 48 * 1024 ** 2

const env = process.env
const workspace = env["ATOLL_AGENT_WORKSPACE"] ?? "/workspace"
const runDir = env["ATOLL_AGENT_RUN_DIR"] ?? "/run/atoll-agent"
const user = env["ATOLL_AGENT_USER"] ?? "sandbox"
const generation = env["ATOLL_AGENT_GENERATION"]

const parseOwner = (text: string | undefined): PipeOwner | null => {
  if (text === undefined || text === "") return null
  const [uid, gid] = text.split(":").map(Number)
  if (!Number.isInteger(uid) || !Number.isInteger(gid)) throw new Error("ATOLL_AGENT_RUN_AS must be uid:gid")
  return { uid: uid!, gid: gid! }
}

/** Where processors are a share of time, programs that count processors see the host's. These variables tell them the Sandbox's number. */
const processorCount = (vcpus: string | undefined): Readonly<Record<string, string>> =>
  vcpus === undefined ? {} : { OMP_NUM_THREADS: vcpus, GOMAXPROCS: vcpus, PYTHON_CPU_COUNT: vcpus }

const cgroup = env["ATOLL_AGENT_CGROUP"]
const trees = (cgroup === undefined ? null : makeCgroupTrees(cgroup)) ?? makeMarkedTrees()
if (trees === null) throw new Error("Neither a cgroup v2 nor the marks of /bin/sh are there to tell process trees by")

const runAs = parseOwner(env["ATOLL_AGENT_RUN_AS"])
const runOwn = async (argv: readonly [string, ...Array<string>]) => {
  let own = 0
  const spawned = (pid: number) => {
    own = pid
    trees.own.add(pid)
  }
  await runToEnd(argv, spawned).finally(() => trees.own.delete(own))
}

const pipes = new OutputPipes(runDir, runAs, runOwn)
const spawner = env["ATOLL_AGENT_SPAWNER"]
const ended = (cause: unknown) => {
  console.error("The program that starts commands has ended.", cause)
  process.exit(1)
}
// Where commands run as the agent's own user, this program is protected from them in the same way as the agent.
const spawned = spawner === undefined ? null : openSpawnerProgram(spawner, trees, ended, runAs === null).launch
const launch = spawned ?? launchByNode(pipes)

const host: CommandHost = {
  trees,
  launch,
  launchInteractive: spawned === null ? launch : withOpenInput(spawned, pipes),
  retained: { total: 0, max: RETAINED_MAX_BYTES },
  runAs,
  defaultEnv: {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    HOME: workspace,
    LANG: "C.UTF-8",
    USER: user,
    LOGNAME: user,
    SHELL: shell ?? "/bin/sh",
    TERM: "xterm-256color",
    ...processorCount(env["ATOLL_AGENT_VCPUS"])
  },
  scratchDir: runDir,
  watchMemoryKills: watchMemoryKills(),
  runOwn
}

/** What first commands would wait for, and do not need. */
const prepare = () => {
  pipes.prepare()
  leaveIdleHeap()
}

// The console may be full or closed; the agent must not depend on it.
process.stdout.on("error", () => {})
process.stderr.on("error", () => {})
process.on("SIGPIPE", () => {})
// Without a listener, this signal from any process would open Node's inspector.
process.on("SIGUSR1", () => {})

const table = new ProcessTable(host, new StartedKeys(join(runDir, "started")))
const server = makeServer({
  ...healthRoutes({
    generation: generation === undefined ? null : Number(generation),
    processTrees: trees.mechanism,
    workspace
  }),
  ...processRoutes(table, { uid: runAs?.uid ?? process.getuid!(), trees }),
  "POST /v1/processes/channel": channelRoute(table),
  ...makeFileRoutes({
    workspace,
    owner: runAs,
    // Node has no syncfs(2).
    flush: (directory) => runOwn([...ownProgram("sync"), "-f", directory]),
    hasOwnVolume: env["ATOLL_AGENT_VOLUME"] !== "shared"
  })
})
listen(server, env["ATOLL_AGENT_LISTEN"] ?? "fd:3").then(
  () => {
    console.log(`atoll agent ready: generation ${generation ?? "unknown"}, process trees by ${trees.mechanism}`)
    setTimeout(prepare, PREPARE_AFTER_MS)
  },
  (cause: unknown) => {
    console.error(cause)
    process.exit(1)
  }
)
