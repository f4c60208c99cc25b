/** A running QEMU process and the service's connections to it: its control socket, its boot port and its agent. */
import type { Duplex } from "node:stream"
import { Effect, Schedule, type Scope } from "effect"
import { connectSerial } from "../../agent/serialLink.ts"
import { agentHealth, makeAgentGuest } from "../../runtime/agentClient/AgentGuest.ts"
import { relayAgent } from "../../runtime/agentClient/AgentRelay.ts"
import { type AgentSession, makeAgentSession } from "../../runtime/agentClient/AgentSession.ts"
import type { Guest } from "../../runtime/Guest.ts"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { goneWithin, isAlive, type ProcessIdentity, signal } from "../linux/ProcessIdentity.ts"
import { patienceEnds } from "../linux/starvation.ts"
import { connectUnixSoon } from "../linux/unixSocket.ts"
import { BootPort } from "./BootPort.ts"
import { type Move, migrate } from "./migration.ts"
import { Qmp } from "./Qmp.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"
import { isRunning } from "./Stall.ts"

const SOCKET_TIMEOUT_MS = 10_000
const KILL_TIMEOUT_MS = 10_000
const STILL_TIMEOUT_MS = 2_000

export interface Machine {
  readonly process: ProcessIdentity
  readonly qmp: Qmp
  readonly boot: BootPort
  readonly session: AgentSession
  readonly guest: Guest
  /** Relayed connections to its agent. They run over `session` and end with it. */
  readonly relays: Set<Duplex>
}

/** Connects to a QEMU that was just started, or to one that already runs. */
export const connectMachine = (
  folder: SandboxFolder,
  process: ProcessIdentity,
  answerTimeoutMs: number
): Effect.Effect<Machine, RuntimeUnavailable> =>
  Effect.suspend(() => {
    const soon = { timeoutMs: SOCKET_TIMEOUT_MS, stillWorth: () => isAlive(process) }
    const connect = async (): Promise<Machine> => {
      const qmp = await Qmp.open(await connectUnixSoon(folder.file("qmpSocket"), soon), answerTimeoutMs)
      try {
        const boot = new BootPort(await connectUnixSoon(folder.file("bootSocket"), soon), process)
        const session = makeAgentSession({
          connect: async () => connectSerial(await connectUnixSoon(folder.file("agentSocket"), soon)),
          idleMs: null,
          isHeldUp: () =>
            qmp.execute("query-status").then(
              (status) => !isRunning(status),
              () => true
            )
        })
        return { process, qmp, boot, session, guest: makeAgentGuest(session), relays: new Set() }
      } catch (error) {
        qmp.close()
        throw error
      }
    }
    return attempt("connecting to QEMU", connect)
  })

/** Opens another connection to its agent, over the session on its only port. */
export const connectRelay = ({ session, relays }: Machine): Effect.Effect<Duplex, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const relay = relayAgent(session)
      relays.add(relay)
      relay.once("close", () => relays.delete(relay))
      return relay
    }),
    (relay) => Effect.sync(() => relay.destroy())
  )

export const endRelays = ({ relays }: Machine): void => {
  for (const relay of relays) relay.destroy()
}

/** Closes the service's connections; the machine keeps running. */
export const disconnect = (machine: Machine): Effect.Effect<void> =>
  Effect.sync(() => {
    endRelays(machine)
    machine.session.close()
    machine.boot.close()
    machine.qmp.close()
  })

/** Kills the process and waits until it is gone. */
export const killProcess = (process: ProcessIdentity): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.flatMap(
    attempt("ending QEMU", () => {
      signal(process, "SIGKILL")
      return goneWithin(() => isAlive(process), KILL_TIMEOUT_MS)
    }),
    (gone) => (gone ? Effect.void : Effect.fail(unavailable("QEMU does not end, not even when it is killed.")))
  )

/** `timeoutMs` excludes the time in which the machine is ready to run but the host has no processor for it. */
const untilAgent = <E>(
  machine: Machine,
  timeoutMs: number,
  asked: Effect.Effect<unknown, E>,
  messageOf: (error: E) => string
): Effect.Effect<void, RuntimeUnavailable> =>
  asked.pipe(
    Effect.retry({ schedule: Schedule.spaced(20), while: () => isAlive(machine.process) }),
    Effect.asVoid,
    Effect.mapError((error) => unavailable(messageOf(error))),
    Effect.raceFirst(
      Effect.andThen(
        patienceEnds(machine.process, timeoutMs),
        Effect.fail(
          unavailable(`The guest's agent did not answer within ${timeoutMs} ms of processor time that it could have.`)
        )
      )
    )
  )

/** Waits until the agent answers. */
export const agentAnswers = (machine: Machine, timeoutMs: number): Effect.Effect<void, RuntimeUnavailable> =>
  untilAgent(machine, timeoutMs, agentHealth(machine.session), ({ message }) => message)

/** Waits until the agent has taken the connection. Its version is not asked for. */
export const agentConnects = (machine: Machine, timeoutMs: number): Effect.Effect<void, RuntimeUnavailable> =>
  untilAgent(
    machine,
    timeoutMs,
    Effect.tryPromise(() => machine.session.ready()),
    ({ cause }) => `The guest's agent cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`
  )

/** Saves the state of a machine, which stands still afterwards; without its memory when the memory is shared with a file. */
export const save = ({ qmp }: Machine, file: string, move: Move): Promise<void> => migrate(qmp, "migrate", file, move)

/** The same, of a stopped machine. */
export const saveState = (machine: Machine, file: string, move: Move) =>
  attempt("saving a machine's state", () => save(machine, file, move))

/** Stops the guest's agent and commands. A guest of an older Atoll does not answer, and one that refuses goes on: resolves all the same. */
export const stopPrograms = ({ boot }: Machine): Promise<void> => boot.still(STILL_TIMEOUT_MS).catch(() => {})

export const loadState = (machine: Machine, file: string, options: { readonly memoryIsShared: boolean }) =>
  attempt("loading a machine's state", () => migrate(machine.qmp, "migrate-incoming", file, options))
