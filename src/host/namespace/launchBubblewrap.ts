/** Starts bubblewrap for one generation of a Sandbox, so that it outlives the service. */
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs"
import { join } from "node:path"
import { enteringCgroups } from "../linux/enteringCgroups.ts"
import type { UserRange } from "../linux/HostUsers.ts"
import { HOST_ENVIRONMENT } from "../linux/hostCommand.ts"
import { type LifePipe, makeLifePipe } from "../linux/lifePipe.ts"
import { type ListeningSocket, listeningSocket } from "../linux/listeningSocket.ts"
import { quoted } from "../linux/shellQuoted.ts"
import { type Daemon, startDaemon } from "../linux/startDaemon.ts"
import { agentCommand, type BubblewrapOptions, bubblewrapArguments, Descriptor } from "./bubblewrap.ts"
import { builderNamespaces } from "./builderNamespaces.ts"
import { MARKER } from "./markedProcesses.ts"
import type { SandboxState } from "./SandboxState.ts"
import { MOUNT_TERMINALS } from "./terminalMount.ts"

export interface LaunchOptions {
  readonly state: SandboxState
  /** On which the launcher waits; closed here. */
  readonly gate: LifePipe
  readonly bubblewrap: BubblewrapOptions
  /** `<instance>/<sandboxId>/<generation>`. */
  readonly marker: string
  /** Created by the launcher after `go`. */
  readonly console: string
  readonly seccomp: Buffer | null
  /** The Sandbox's user id, when the service is root. */
  readonly uid: number | null
  /** Files of cgroups v1 to enter before privileges are dropped. */
  readonly cgroups: ReadonlyArray<string>
  /** The cgroup v2 to start in. */
  readonly startsIn: string | null
  /** The user ids of a Sandbox that builds Dockerfiles, beside `uid`. */
  readonly range: UserRange | null
  /** For hosts without a pids controller. */
  readonly processesMax: number | null
}

export interface Launched {
  /** Only with `bubblewrap.inNetwork` or a range is it ever `ready`: it is in that namespace. */
  readonly monitor: Daemon
  /** Lets the launcher run bwrap. Until then it waits, and ends if the service does. */
  readonly go: () => void
  /** Only with `bubblewrap.inNetwork` or a range, before `go`: lets the launcher make its network or its user namespace. */
  readonly makeNamespace: () => void
  /** Reads end of file when the Sandbox is gone; for slirp4netns. Only with a network. */
  readonly gone: number | null
  /** Closes `gone`. A launcher that still waits ends. */
  readonly release: () => void
}

/** The descriptor on which the launcher reports that its namespace exists. */
const MADE = Descriptor.users
/** Below 10, because `sh` accepts only one digit before a redirection. */
const GO = 8

/**
 * Enters the cgroups, waits for `go`, and becomes the Sandbox's user. All steps are one process that becomes bwrap by exec, so its pid is known from the
 * start.
 */
const argvOf = (options: LaunchOptions, entered: ReadonlyArray<string>): readonly [string, ...Array<string>] => {
  const bwrap = ["bwrap", "--args", String(Descriptor.arguments), "--", ...agentCommand(options.bubblewrap)]
  const drop =
    options.uid === null
      ? []
      : ["setpriv", `--reuid=${options.uid}`, `--regid=${options.uid}`, "--clear-groups", "--inh-caps=-all", "--"]
  const { inNetwork, hasTerminals } = options.bubblewrap
  const own = [...(inNetwork ? ["--net"] : []), ...(hasTerminals ? ["--mount"] : [])]
  const builder = options.range === null ? [] : builderNamespaces(MADE, GO)
  const steps = [
    ...enteringCgroups(entered),
    `read -r go <&${GO} || exit 98`,
    `exec >> ${quoted(options.console)} 2>&1`,
    "ulimit -c 0",
    ...(options.processesMax === null ? [] : [`ulimit -p ${options.processesMax}`]),
    options.range !== null
      ? 'exec "$@"'
      : own.length === 0
        ? last
        : `exec unshare --user --map-root-user ${own.join(" ")} -- /bin/sh -c ${quoted(inside(options.bubblewrap))} sh "$@"`
  ]
  return ["/bin/sh", "-c", steps.join("\n"), "sh", ...drop, ...builder, ...bwrap]
}

const last = `exec ${GO}<&- ${MADE}>&- "$@"`

/** Runs in a separate user namespace, as its root. The Sandbox's user namespace is below it and cannot change this network and these mounts. */
const inside = ({ inNetwork, hasTerminals }: BubblewrapOptions): string =>
  [
    // If the mount fails, it exits: bwrap would show the Sandbox the host's terminals.
    ...(hasTerminals ? [`${MOUNT_TERMINALS} || exit 95`] : []),
    ...(inNetwork ? [`echo made >&${MADE} || exit 96`, `read -r go <&${GO} || exit 98`] : []),
    last
  ].join("\n")

export const launch = async (options: LaunchOptions): Promise<Launched> => {
  const { state, gate, bubblewrap, startsIn } = options
  /** Closed when the launcher has them. */
  const opened: Array<number> = [gate.readFd]
  /** Closed after the boot. */
  const held: Array<number> = [gate.writeFd]
  const keep = (fd: number, kept = opened) => {
    kept.push(fd)
    return fd
  }
  const release = () => {
    for (const fd of held.splice(0)) closeSync(fd)
  }
  let socket: ListeningSocket | null = null
  try {
    socket = await listeningSocket(state.socket)
    let gone: number | null = null
    const inherits: Record<number, number> = { [Descriptor.listen]: socket.fd }
    if (bubblewrap.networkEnabled) {
      const pipe = await makeLifePipe(state.life)
      gone = keep(pipe.readFd, held)
      inherits[Descriptor.sync] = keep(pipe.writeFd)
    }
    inherits[GO] = gate.readFd
    if (options.seccomp !== null) inherits[Descriptor.seccomp] = keep(readable(state.folder, options.seccomp))
    inherits[Descriptor.arguments] = keep(readable(state.folder, bubblewrapArguments(bubblewrap)))
    inherits[Descriptor.status] = keep(openSync(state.status, "w", 0o600))
    const monitor = await startDaemon({
      name: "bubblewrap",
      argv: argvOf(options, options.cgroups),
      cgroup:
        startsIn === null
          ? null
          : { folder: startsIn, argvOutside: argvOf(options, [...options.cgroups, join(startsIn, "cgroup.procs")]) },
      cwd: "/",
      env: { ...HOST_ENVIRONMENT, [MARKER]: options.marker },
      inherits,
      ...(bubblewrap.inNetwork || options.range !== null ? { readyBy: MADE } : {})
    })
    const pass = () => {
      try {
        writeSync(gate.writeFd, "go\n")
      } catch {
        // It has ended.
      }
    }
    return { monitor, gone, go: pass, makeNamespace: pass, release }
  } catch (cause) {
    release()
    throw cause
  } finally {
    socket?.release()
    for (const fd of opened) closeSync(fd)
  }
}

/** A descriptor that reads these bytes from the start; the file has no name any more. */
const readable = (folder: string, bytes: Buffer): number => {
  const path = join(folder, `input-${process.hrtime.bigint()}`)
  const write = openSync(path, "wx", 0o600)
  try {
    for (let written = 0; written < bytes.length; ) written += writeSync(write, bytes, written)
    return openSync(path, "r")
  } finally {
    closeSync(write)
    unlinkSync(path)
  }
}
