/**
 * Arguments for bubblewrap: one Sandbox's namespaces, mounts and limits. They are passed in a file descriptor (`--args FD`), because a Sandbox can
 * read the command line of its PID 1 and must learn no path of the host.
 *
 * @source bwrap(1) 0.8; lab.md "bubblewrap"
 */
import { AGENT_NODE_ARGUMENTS } from "../../runtime/agentClient/agentBundle.ts"
import type { View } from "../linux/limitViews.ts"
import { BUILDER_CAPABILITIES } from "./builderNamespaces.ts"
import { OWN_PROGRAMS } from "./ownPrograms.ts"
import { SANDBOX_HOSTNAME, SANDBOX_UID, SANDBOX_USER, systemArguments } from "./systemFiles.ts"

/** The descriptors that the launcher passes to bwrap; only the first reaches the agent. */
export const Descriptor = { listen: 3, seccomp: 4, arguments: 5, status: 6, sync: 7, users: 9 } as const

export interface BubblewrapOptions {
  readonly generation: number
  readonly node: string
  readonly agent: string
  /** Null where no spawner exists for this processor. */
  readonly spawner: string | null
  readonly etc: string
  /** The mounted image that is its root, and the folder of `ownPrograms`; null: its root is the host's. */
  readonly image: { readonly root: string; readonly programs: string } | null
  readonly workspace: string
  /** The workspace is on a volume image. */
  readonly hasOwnVolume: boolean
  /** The delegated cgroup v2 directory. */
  readonly cgroup: string | null
  /** On the volume: a tmpfs would be small, and its content could not be reclaimed. */
  readonly tmp: string
  /** Mounts that show programs their limits. */
  readonly views: ReadonlyArray<View>
  readonly vcpus: number
  /** The Sandbox's memory, of which /dev/shm and /run may take a third together. */
  readonly memoryBytes: number
  readonly seccomp: boolean
  readonly networkEnabled: boolean
  /** Dockerfiles can be built in it: see builderNamespaces.ts. */
  readonly builds: boolean
  /** bwrap is started inside the Sandbox's network namespace. */
  readonly inNetwork: boolean
  /** bwrap is started where /dev/pts is already the Sandbox's. */
  readonly hasTerminals: boolean
}

const onHost = "/opt/atoll"

/** Where the agent's files are. */
const ownOf = ({ image }: Pick<BubblewrapOptions, "image">): string => (image === null ? onHost : OWN_PROGRAMS)

const environment = (options: BubblewrapOptions, own: string): Readonly<Record<string, string>> => ({
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LANG: "C.UTF-8",
  HOME: "/workspace",
  // One thread for name lookups and one for files: each costs memory.
  UV_THREADPOOL_SIZE: "2",
  MALLOC_ARENA_MAX: "1",
  ATOLL_AGENT_LISTEN: `fd:${Descriptor.listen}`,
  ATOLL_AGENT_GENERATION: String(options.generation),
  ATOLL_AGENT_RUN_DIR: "/run/atoll-agent",
  ATOLL_AGENT_USER: options.builds ? "root" : SANDBOX_USER,
  ...(options.spawner === null ? {} : { ATOLL_AGENT_SPAWNER: `${own}/spawner` }),
  ...(options.image === null ? {} : { ATOLL_AGENT_PROGRAMS: own, LD_LIBRARY_PATH: `${own}/lib` }),
  ...(options.hasOwnVolume ? {} : { ATOLL_AGENT_VOLUME: "shared" }),
  ATOLL_AGENT_VCPUS: String(Math.ceil(options.vcpus)),
  ...(options.cgroup === null ? {} : { ATOLL_AGENT_CGROUP: `${own}/cgroup` })
})

const tmpfs = (path: string, bytes: number, mode: string): ReadonlyArray<string> => [
  "--perms",
  mode,
  "--size",
  String(bytes),
  "--tmpfs",
  path
]

const folders = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  // Folders that bwrap creates for binds are closed to other users by default, so the mode is given.
  paths.flatMap((path) => ["--perms", "0755", "--dir", path])

const hostRoot = (options: BubblewrapOptions): ReadonlyArray<string> => [
  ...folders(["/opt", onHost, "/sys", "/sys/fs", "/sys/fs/cgroup", "/var"]),
  ...systemArguments(options.etc),
  ...["--symlink", "../run", "/var/run", "--symlink", "../tmp", "/var/tmp"]
]

/** The image has every mount point already: see `placeForSandbox`. */
const imageRoot = ({ root, programs }: NonNullable<BubblewrapOptions["image"]>, etc: string): ReadonlyArray<string> => [
  ...["--ro-bind", root, "/", "--ro-bind", programs, OWN_PROGRAMS],
  ...["hostname", "hosts", "resolv.conf"].flatMap((name) => ["--ro-bind", `${etc}/${name}`, `/etc/${name}`]),
  ...tmpfs("/sys", 4096, "0755"),
  ...folders(["/sys/fs", "/sys/fs/cgroup"])
]

/** The arguments are NUL-separated; the command comes last. */
export const bubblewrapArguments = (options: BubblewrapOptions): Buffer => {
  const own = ownOf(options)
  const list = [
    ...(options.builds ? ["--userns2", String(Descriptor.users)] : ["--unshare-user"]),
    "--unshare-ipc",
    "--unshare-pid",
    ...(options.inNetwork ? [] : ["--unshare-net"]),
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(options.builds ? [] : ["--uid", String(SANDBOX_UID), "--gid", String(SANDBOX_UID)]),
    ...["--hostname", SANDBOX_HOSTNAME],
    "--new-session",
    "--clearenv",
    ...Object.entries(environment(options, own)).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(options.image === null ? hostRoot(options) : imageRoot(options.image, options.etc)),
    ...["--proc", "/proc", "--dev", "/dev"],
    // bubblewrap makes its PID 1 dumpable: a program of the same user could write its memory and replace its descriptors. So /proc/1 is hidden.
    ...tmpfs("/proc/1", 4096, "0555"),
    ...["--remount-ro", "/proc/1"],
    ...(options.hasTerminals ? ["--dev-bind", "/dev/pts", "/dev/pts"] : []),
    ...options.views.flatMap(({ from, to }) => ["--ro-bind", from, to]),
    ...tmpfs("/dev/shm", Math.floor(options.memoryBytes / 4), "1777"),
    ...tmpfs("/run", Math.floor(options.memoryBytes / 16), "0755"),
    ...["--bind", options.workspace, "/workspace", "--bind", options.tmp, "/tmp"],
    ...(options.image === null ? ["--ro-bind", options.node, `${own}/node`] : []),
    ...["--ro-bind", options.agent, `${own}/agent.cjs`],
    ...(options.spawner === null ? [] : ["--ro-bind", options.spawner, `${own}/spawner`]),
    ...(options.cgroup === null ? [] : ["--bind", options.cgroup, `${own}/cgroup`]),
    ...["--remount-ro", "/dev", ...(options.image === null ? [] : ["--remount-ro", "/sys"]), "--remount-ro", "/"],
    ...["--cap-drop", "ALL"],
    ...(options.builds ? BUILDER_CAPABILITIES.flatMap((it) => ["--cap-add", `CAP_${it}`]) : []),
    ...(options.seccomp ? ["--seccomp", String(Descriptor.seccomp)] : []),
    ...["--json-status-fd", String(Descriptor.status)],
    ...(options.networkEnabled ? ["--sync-fd", String(Descriptor.sync)] : []),
    // A working directory in the volume would hold it: see VolumeGift.ts. Each command gets its own.
    ...["--chdir", "/"]
  ]
  return Buffer.from(list.map((it) => `${it}\0`).join(""))
}

export const agentCommand = (options: Pick<BubblewrapOptions, "image" | "builds">): ReadonlyArray<string> => {
  const own = ownOf(options)
  // bwrap leaves that descriptor open.
  const closes = options.builds ? ["/bin/sh", "-c", `exec ${Descriptor.users}<&- "$@"`, "sh"] : []
  return [...closes, `${own}/node`, ...AGENT_NODE_ARGUMENTS, `${own}/agent.cjs`]
}
