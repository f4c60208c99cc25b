import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { SqlError } from "effect/sql"
import { ActorFailed, OwnerAway } from "../../../src/engine/ActorError.ts"
import { metDefect, toldDefect } from "../../../src/engine/ownerDefect.ts"

/** As one process sends it and another reads it. */
const over = (defect: unknown) => {
  const written = JSON.stringify(Schema.encodeSync(ActorFailed)(toldDefect(defect)))
  return metDefect("act_1", Schema.decodeUnknownSync(ActorFailed)(JSON.parse(written)))
}

const sqlError = (code: string | null) =>
  new SqlError.SqlError({
    reason: new (code === null ? SqlError.ConnectionError : SqlError.UnknownError)({
      cause: code === null ? new Error("cut") : Object.assign(new Error("said"), { code }),
      message: "a statement failed",
      operation: "execute"
    })
  })

it("an owner that lost its database is retried soon, and not reported as a fault of the service", () => {
  for (const defect of [sqlError(null), sqlError("57P01"), new OwnerAway({ actorId: "act_1" })]) {
    assert.instanceOf(over(defect), OwnerAway)
  }
})

it("a defect that the owner would meet again is a defect here, too", () => {
  for (const defect of [new Error("of ours"), sqlError("42703")]) {
    const met = over(defect)
    assert.notInstanceOf(met, OwnerAway)
    assert.include(met.message, defect instanceof SqlError.SqlError ? "SqlError" : "of ours")
  }
})

it("a process of an earlier version reports only that it failed", () => {
  assert.notInstanceOf(metDefect("act_1", new ActorFailed({ message: "failed" })), OwnerAway)
})
