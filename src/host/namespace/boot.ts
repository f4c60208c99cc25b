/** One boot of a Sandbox: from its volume to its network and the first answer of its agent. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs"
import { waitForAll } from "../../platform/concurrency/waitForAll.ts"
import type { SandboxSpec } from "../../runtime/Runtime.ts"
import { type CgroupHost, type CgroupLimits, makeCgroups } from "../linux/cgroups.ts"
import type { UserRange } from "../linux/HostUsers.ts"
import { closeLifePipe, makeGate } from "../linux/lifePipe.ts"
import { cgroupViews, lxcfsViews } from "../linux/limitViews.ts"
import { identify, identifyInside, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import { printable } from "../linux/printable.ts"
import type { Daemon } from "../linux/startDaemon.ts"
import { mapUsers, subordinateUsers } from "./builderNamespaces.ts"
import { type AgentStart, builtRoot } from "./builtRoot.ts"
import type { HostLayout } from "./HostLayout.ts"
import { type Launched, launch } from "./launchBubblewrap.ts"
import { consoleOf, makeOwnConsole } from "./ownConsole.ts"
import { networkObstacle } from "./probe.ts"
import { removeConsoles } from "./removeConsoles.ts"
import type { RuntimeRecord, SandboxState } from "./SandboxState.ts"
import { connectSandbox, type SandboxNetwork } from "./sandboxNetwork.ts"
import { seccompProgram } from "./seccomp.ts"
import { boundTerminals, canMountTerminals } from "./terminalMount.ts"
import { freshTemporary, openVolume, temporaryOf, workspaceOf } from "./volume.ts"

export interface BootOptions {
  readonly layout: HostLayout
  readonly cgroups: CgroupHost
  readonly state: SandboxState
  readonly spec: SandboxSpec
  /** The Sandbox's user id, when the service is root. */
  readonly uid: number | null
  readonly processesMax: number
  /** Where the image that is its root is mounted; null: its root is the host's. */
  readonly imageRoot: string | null
  /** Its console is not on its volume: see ownConsole.ts. */
  readonly ownConsole: boolean
  /** Moves an empty volume image of this size to the path, if one was made ahead. */
  readonly takeBlank: (bytes: number, path: string) => Promise<unknown>
  /** Called when the boot has started: this process waits for the Sandbox. */
  readonly began: (monitor: ProcessIdentity) => void
  /** Resolves with the agent's pid inside the Sandbox once it answers. */
  readonly agentAnswers: () => Promise<number>
}

export interface Booted {
  readonly record: RuntimeRecord
  readonly monitor: Daemon
}

const CONSOLE_SHOWN_CHARS = 500

const ordinary = seccompProgram(process.arch)
const building = seccompProgram(process.arch, true)

/** On failure the caller ends the started processes; the error contains the console's last lines. */
export const boot = async (options: BootOptions): Promise<Booted> => {
  const { layout, state, spec, uid } = options
  const obstacle = spec.networkEnabled ? networkObstacle() : null
  if (obstacle !== null) throw new Error(`A Sandbox cannot have network: ${obstacle}`)
  const place = layout.volume(state)
  const console = consoleOf(layout, state, { generation: spec.generation, ownConsole: options.ownConsole })
  if (options.ownConsole) await makeOwnConsole(state)
  // Beside the launch: both take some ten milliseconds.
  const volume = layout.volumes.ensure(
    spec.sandboxId,
    () => existsSync(place.image ?? workspaceOf(place)),
    async () => {
      if (place.image !== null && !existsSync(place.image)) await options.takeBlank(spec.volumeBytes, place.image)
      const record = state.spec()
      const filesOf = await openVolume(place, spec.volumeBytes, uid, record?.filesOf, rangeOf(options))
      if (record?.filesOf !== undefined && filesOf !== null && filesOf !== record.filesOf) {
        await state.writeSpec({ ...record, filesOf })
      }
    }
  )
  const settled = volume.catch(() => {})
  const { launched, serves } = await launchWith(options, console).catch(async (cause: unknown) => {
    await settled
    throw cause
  })
  const { gone } = launched
  try {
    const { process: monitor } = launched.monitor
    options.began(monitor)
    const { generation, networkEnabled } = spec
    const own = options.ownConsole ? { ownConsole: true } : {}
    const begun: RuntimeRecord = { generation, networkEnabled, monitor, init: null, agent: null, ...own }
    await state.writeRuntime(begun)
    await volume
    await freshTemporary(place, uid, serves)
    await removeConsoles(place.folder)
    const way = { monitor, init: null, isRoot: uid !== null, cgroups: serves, mark: layout.marker(spec) }
    let network: ProcessIdentity | null = null
    await layout.systemFiles()
    await giveUsers(options, launched)
    if (networkEnabled && uid === null) {
      launched.makeNamespace()
      await unlessEnded(launched.monitor, launched.monitor.ready)
      network = await connectSandbox(way, gone!)
    }
    launched.go()
    let agentStart: AgentStart = "awaited"
    // Beside the agent's start.
    const outside = uid === null ? Promise.resolve(network) : serveFromOutside(state, () => agentStart, way, gone)
    const served = outside.catch(() => {})
    const innerPid = await unlessEnded(launched.monitor, options.agentAnswers())
      .then(
        (pid) => {
          agentStart = "answered"
          return pid
        },
        (cause: unknown) => {
          agentStart = "failed"
          throw cause
        }
      )
      // Also after a failure: `gone` is closed below, and its number may soon be another file's.
      .finally(() => served)
    const init = identify(state.readStatus().childPid ?? 0)
    const agent = init === null ? null : identifyInside(init.pid, innerPid)
    if (init === null || agent === null) throw new Error("the agent's process was not found")
    network = await outside
    const record = { ...begun, init, agent, network }
    await state.writeRuntime(record)
    return { record, monitor: launched.monitor }
  } catch (cause) {
    // The caller ends what was started: nothing may be made any more.
    await settled
    const said = tailOf(console)
    if (cause instanceof Error && said !== "") cause.message += ` (its console: ${said})`
    throw cause
  } finally {
    launched.release()
  }
}

/** As root: connects the network, and bounds the terminals. Resolves with the network's process. */
const serveFromOutside = async (
  state: SandboxState,
  agentStart: () => AgentStart,
  way: SandboxNetwork,
  gone: number | null
): Promise<ProcessIdentity | null> => {
  const init = await builtRoot(state, agentStart)
  const connecting = gone === null ? Promise.resolve(null) : connectSandbox({ ...way, init }, gone)
  const [network] = await waitForAll(connecting, boundTerminals(init))
  return network
}

const launchWith = async (options: BootOptions, console: string) => {
  const { layout, cgroups, state, spec, uid, processesMax, imageRoot } = options
  const range = rangeOf(options)
  const seccomp = range === null ? ordinary : building
  const image = imageRoot === null ? null : { root: imageRoot, programs: await layout.ownPrograms() }
  const place = layout.volume(state)
  const name = layout.nameOf(spec.sandboxId)
  const limits = { memoryBytes: spec.memoryBytes, vcpus: spec.vcpus, processes: processesMax }
  // Beside the cgroups: a program makes it.
  const gate = makeGate(state.gate)
  gate.catch(() => {})
  const groups = await cgroupsOf(cgroups, name, limits, uid).catch(async (cause: unknown) => {
    closeLifePipe(await gate)
    throw cause
  })
  const launched = await launch({
    state,
    gate: await gate,
    marker: layout.marker(spec),
    console,
    seccomp,
    uid,
    range,
    cgroups: groups.joins,
    startsIn: groups.startsIn,
    processesMax: uid === null || cgroups.enforced.pids ? null : processesMax,
    bubblewrap: {
      generation: spec.generation,
      node: layout.node,
      agent: layout.agent,
      spawner: layout.spawner,
      etc: layout.etc(spec.networkEnabled),
      image,
      workspace: workspaceOf(place),
      hasOwnVolume: place.image !== null,
      cgroup: groups.delegated,
      tmp: temporaryOf(place),
      views: [...layout.masks(), ...(uid === null ? [] : cgroupViews(cgroups, name)), ...lxcfsViews()],
      vcpus: spec.vcpus,
      memoryBytes: spec.memoryBytes,
      seccomp: seccomp !== null,
      networkEnabled: spec.networkEnabled,
      builds: range !== null,
      inNetwork: spec.networkEnabled && uid === null,
      hasTerminals: uid === null && canMountTerminals()
    }
  })
  return { launched, serves: groups.serves }
}

/** To a Sandbox that builds, once its user namespace is there. */
const giveUsers = async (options: BootOptions, { makeNamespace, monitor }: Launched): Promise<void> => {
  const range = rangeOf(options)
  if (range === null || options.uid === null) return
  makeNamespace()
  await unlessEnded(monitor, monitor.ready)
  await mapUsers(monitor.process.pid, options.uid, range)
}

/** Null: it is an ordinary Sandbox. */
const rangeOf = ({ spec, uid }: BootOptions): UserRange | null =>
  spec.builder === true && uid !== null ? subordinateUsers(uid) : null

const cgroupsOf = async (host: CgroupHost, name: string, limits: CgroupLimits, uid: number | null) =>
  uid === null ? { joins: [], startsIn: null, serves: [], delegated: null } : await makeCgroups(host, name, limits, uid)

/** Awaits `awaited`, but rejects if the monitor ends before. */
const unlessEnded = <A>(monitor: Daemon, awaited: Promise<A>): Promise<A> => {
  const end = monitor.ended.then(({ status }) => Promise.reject(new Error(`bubblewrap ended with ${status}`)))
  // The other one may reject later.
  for (const one of [end, awaited]) one.catch(() => {})
  return Promise.race([awaited, end])
}

/** The end of a console file, which may be as large as the volume. */
const tailOf = (path: string): string => {
  try {
    const fd = openSync(path, "r")
    try {
      const bytes = Buffer.alloc(CONSOLE_SHOWN_CHARS)
      const filled = readSync(fd, bytes, 0, bytes.length, Math.max(0, fstatSync(fd).size - bytes.length))
      return printable(bytes.toString("utf8", 0, filled), CONSOLE_SHOWN_CHARS)
    } finally {
      closeSync(fd)
    }
  } catch {
    return ""
  }
}
