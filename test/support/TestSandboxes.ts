/** Sandboxes for tests of the service below HTTP. */
import { Effect, Schedule } from "effect"
import { Sandboxes } from "../../src/sandbox/Sandboxes.ts"

/** A waiting test leaves the machine to what it waits for. */
const lookEveryMs = 5

export const request = { requestId: "req_test", exhaustedAt: null }

export const createIn = Effect.fnUntraced(function* (
  { accountId, workspaceId }: { accountId: string; workspaceId: string },
  key = "k"
) {
  const sandboxes = yield* Sandboxes
  return yield* sandboxes.create({
    accountId,
    requestId: "req_test",
    idempotencyKey: key,
    fingerprint: "f",
    request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime: null }
  })
})

export const start = (accountId: string, id: string) =>
  Effect.flatMap(Sandboxes, (sandboxes) => sandboxes.start(accountId, id, { ...request, idempotencyKey: null }))

export const untilStatus = Effect.fnUntraced(function* (accountId: string, id: string, status: string) {
  const sandboxes = yield* Sandboxes
  return yield* Effect.repeat(sandboxes.get(accountId, id), {
    until: (sandbox) => sandbox.status === status,
    schedule: Schedule.spaced(lookEveryMs)
  })
})

/** The common fields of the tests' commands. */
export const command = { cwd: "/workspace", env: {}, stdin: null, encoding: "utf8" as const }
