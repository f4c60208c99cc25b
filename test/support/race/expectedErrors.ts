import { copyErrors } from "./copies.ts"
import { buildErrors } from "./raceBuilds.ts"
import type { ClientStep } from "./steps.ts"

/** With which a client may be answered. */
export const expectedErrors: Record<ClientStep["type"], ReadonlyArray<string>> = {
  create: ["IDEMPOTENCY_CONFLICT", "SANDBOX_LIMIT_REACHED", "STORAGE_LIMIT_REACHED"],
  start: ["NOT_FOUND", "SANDBOX_UNAVAILABLE", "SANDBOX_LIMIT_REACHED", "STORAGE_LIMIT_REACHED"],
  stop: ["NOT_FOUND", "SANDBOX_UNAVAILABLE"],
  remove: [],
  update: ["NOT_FOUND", "SANDBOX_UNAVAILABLE"],
  sleep: [],
  operation: ["NOT_FOUND", "SANDBOX_UNAVAILABLE", "IDEMPOTENCY_CONFLICT"],
  execute: ["NOT_FOUND", "SANDBOX_UNAVAILABLE", "EXECUTION_TIMEOUT"],
  cancel: [],
  get: [],
  wait: [],
  output: [],
  ...copyErrors,
  ...buildErrors
}
