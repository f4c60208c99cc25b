/** An operation's actor, for tests of the host. */
import type { IdempotencyKey } from "../../../src/store/JournalRecord.ts"

export const newOperation = (id: string, idempotency: IdempotencyKey | null = null) => ({
  id,
  accountId: "acc_1",
  sandboxId: "sbx_1",
  input: { operationId: id, accountId: "acc_1", sandboxId: "sbx_1", generation: 1, timeoutMs: null, at: 1 },
  payload: null,
  cause: "client",
  requestId: "req_1",
  idempotency
})
