/**
 * The processes in a Sandbox, as its guest reports them.
 *
 * A Sandbox of another account is NOT_FOUND, and so is a process that has ended.
 *
 * @source contract-details.md; findings: a fork bomb leaves processes without a handle
 */
import { Context, Effect, Layer } from "effect"
import { NotFound, type SandboxUnavailable } from "../../../schemas/Errors.ts"
import type { ProcessList, StartedBy } from "../../../schemas/Process.ts"
import type { Settings } from "../../Config.ts"
import type { ActorHost } from "../../engine/ActorHost.ts"
import type { GuestProcess } from "../../runtime/Guest.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { guestChange, unanswered } from "../../sandbox/GuestChange.ts"
import { runningSandbox, unavailableUnlessRunning } from "../../sandbox/RunningSandbox.ts"
import type { Actors } from "../../store/Actors.ts"
import type { Journal } from "../../store/Journal.ts"

const idOf = ({ pid, startTicks }: GuestProcess): string => `${pid}-${startTicks}`

const startedBy: ReadonlyArray<readonly [key: RegExp, by: StartedBy]> = [
  [/^op_[0-9a-f]{32}$/, "operation"],
  [/^exe_/, "execute"],
  [/^terminal-/, "terminal"],
  [/^ssh-/, "ssh"]
]

/** The origin of a key that the service assigned. A guest can forge it only for its own processes. */
const originOf = (key: string | null | undefined) => {
  const by = startedBy.find(([like]) => like.test(key ?? ""))?.[1] ?? null
  return { startedBy: by, operationId: by === "operation" ? key! : null }
}

const named = (id: string) => {
  const [pid, startTicks] = id.split("-").map(Number)
  return { pid: pid!, startTicks: startTicks! }
}

export class SandboxProcesses extends Context.Service<
  SandboxProcesses,
  {
    readonly list: (accountId: string, sandboxId: string) => Effect.Effect<ProcessList, NotFound | SandboxUnavailable>
    /** Sends TERM, then KILL after the grace. */
    readonly end: (
      accountId: string,
      sandboxId: string,
      processId: string,
      options: { readonly graceSeconds: number }
    ) => Effect.Effect<void, NotFound | SandboxUnavailable>
  }
>()("atoll/operation/process/SandboxProcesses") {
  static readonly layer = Layer.effect(
    SandboxProcesses,
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const services = yield* Effect.context<ActorHost | Actors | Journal | Settings>()
      const processesOf = (accountId: string, sandboxId: string) =>
        runningSandbox(accountId, sandboxId).pipe(
          Effect.provideContext(services),
          Effect.flatMap(({ generation }) => runtime.guest(sandboxId, generation)),
          Effect.map(({ processes }) => processes),
          unavailableUnlessRunning,
          Effect.catchTag("GuestUnavailable", () => Effect.fail(unanswered()))
        )
      return SandboxProcesses.of({
        list: Effect.fn("SandboxProcesses.list")(function* (accountId, sandboxId) {
          const { every } = yield* processesOf(accountId, sandboxId)
          const { processes, truncated } = yield* Effect.mapError(every, unanswered)
          return {
            processes: processes.map((process) => ({
              id: idOf(process),
              pid: process.pid,
              parentPid: process.parentPid,
              argv: process.argv,
              user: process.user ?? null,
              ...originOf(process.command),
              state: process.state,
              startedAt: new Date(process.startedAt).toISOString(),
              cpuSeconds: process.cpuMs / 1000,
              memoryBytes: process.memoryBytes
            })),
            truncated
          }
        }),
        end: Effect.fn("SandboxProcesses.end")(function* (accountId, sandboxId, processId, { graceSeconds }) {
          const { endOne } = yield* processesOf(accountId, sandboxId)
          yield* endOne(named(processId), { graceMs: graceSeconds * 1000 }).pipe(
            guestChange,
            Effect.catchTag("ProcessUnknown", () => Effect.fail(new NotFound()))
          )
        })
      })
    })
  )
}
