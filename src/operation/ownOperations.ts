/** Finds the operations of an account's Sandbox, and shows them with the totals of their output. */
import { Effect } from "effect"
import { NotFound } from "../../schemas/Errors.ts"
import { Actors } from "../store/Actors.ts"
import { Output } from "../store/Output.ts"
import { type OperationRecord, operationView } from "./OperationView.ts"

export const ownOperations = Effect.gen(function* () {
  const actors = yield* Actors
  const output = yield* Output

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
    return record as OperationRecord
  })

  const view = (record: OperationRecord) =>
    Effect.map(output.offsets(record.id), (stored) => operationView(record, stored))

  return { find, view }
})
