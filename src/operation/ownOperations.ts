/** Finds an operation of an account's Sandbox. */
import { Effect } from "effect"
import { NotFound } from "../../schemas/Errors.ts"
import { Actors } from "../store/Actors.ts"
import type { ReadOperation } from "./OperationView.ts"

export const ownOperations = Effect.gen(function* () {
  const actors = yield* Actors

  /** NotFound: another account's, another Sandbox's, or none. */
  const find = Effect.fnUntraced(function* (accountId: string, sandboxId: string, operationId: string) {
    const record = yield* actors.read(operationId)
    if (
      record === null ||
      record.kind !== "operation" ||
      record.accountId !== accountId ||
      record.sandboxId !== sandboxId
    ) {
      return yield* new NotFound()
    }
    return record as ReadOperation
  })
  return { find }
})
