/** Starts the process of an operation in its guest, once it is its turn. */
import { Effect } from "effect"
import type { operationMachine } from "../../machines/operation.ts"
import type { OperationContext } from "../../schemas/contexts/Operation.ts"
import { saidBySandbox } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import type { ProcessSpec } from "../runtime/Guest.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { SandboxEnvs } from "../sandbox/SandboxEnvs.ts"
import { disbelieved, lost, unlessDisbelieved } from "./lostOperation.ts"
import { operationTurns } from "./OperationTurns.ts"
import type { StartedHere } from "./StartedHere.ts"
import { whileSandboxRuns } from "./whileSandboxRuns.ts"

type OperationEvent = EventOf<typeof operationMachine>

/** The guest's own time-out, later than the machine's deadline, for times without a follower. */
const guestTimeoutSlackMs = 10_000
const windowBytes = 2 * 1024 * 1024

export const startProcess = Effect.fnUntraced(function* (started: StartedHere) {
  const runtime = yield* Runtime
  const envs = yield* SandboxEnvs
  const turnOf = yield* operationTurns
  const whileRuns = yield* whileSandboxRuns
  const { operationsRunning } = yield* Settings

  return Effect.fnUntraced(function* (context: OperationContext) {
    const payload = yield* turnOf(context)
    const start = Effect.gen(function* () {
      const guest = yield* runtime.guest(context.sandboxId, context.generation)
      const spec: ProcessSpec = {
        argv: payload.argv,
        cwd: payload.cwd,
        env: { ...(yield* envs.read(context.sandboxId, payload.sandboxEnv ?? null)), ...payload.env },
        stdin: payload.stdin === null ? null : Buffer.from(payload.stdin, "base64"),
        timeoutMs: context.timeoutMs === null ? null : context.timeoutMs + guestTimeoutSlackMs,
        output: { mode: "window", bytes: windowBytes },
        turnsMax: operationsRunning
      }
      yield* guest.processes.start(context.operationId, spec)
      started.note(context.operationId, payload.stdin !== null || Object.keys(payload.env ?? {}).length > 0)
      return { type: "STARTED" } as const
    }).pipe(
      Effect.catchTag("SpawnRefused", (refused) =>
        Effect.succeed<OperationEvent>({
          type: "REFUSED",
          reason: { code: refused.code, message: saidBySandbox(refused.message) }
        })
      )
    )
    return yield* whileRuns(context, unlessDisbelieved(start, disbelieved), lost)
  })
})
