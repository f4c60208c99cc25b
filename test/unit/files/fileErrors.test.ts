/** The API's errors for a guest's refusals, for every call that is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { faultCodes } from "../../../src/agent/files/FileRefusal.ts"
import { inContract } from "../../../src/files/FileErrors.ts"
import { FileRefused, GuestUnavailable } from "../../../src/runtime/Guest.ts"

const codes = FileRefused.fields.code.literals

const answered = (fault: FileRefused | GuestUnavailable) =>
  Effect.map(Effect.flip(inContract("DIRECTORY_NOT_EMPTY")(Effect.fail(fault))), ({ _tag }) => _tag as string)

describe("a refusal by the guest", () => {
  it.effect("becomes a failure of the Sandbox only if its code says so, even for a call without that code", () =>
    Effect.gen(function* () {
      assert.isAbove(codes.length, 10)
      for (const code of codes) {
        const known = ["INVALID_PATH", "NOT_FOUND", "NOT_A_DIRECTORY", "DIRECTORY_NOT_EMPTY"].includes(code)
        const refused = new FileRefused({ code, message: "m", details: null })
        const isFault = faultCodes.some((fault) => fault === code)
        const otherwise = isFault ? "SERVICE_UNAVAILABLE" : "INVALID_PATH"
        assert.strictEqual(yield* answered(refused), known ? code : otherwise)
      }
      const lost = new GuestUnavailable({ message: "m", fault: "lost" })
      assert.strictEqual(yield* answered(lost), "SANDBOX_UNAVAILABLE")
      const unreached = new GuestUnavailable({ message: "m", fault: "unreached" })
      assert.strictEqual(yield* answered(unreached), "SERVICE_UNAVAILABLE")
    })
  )
})
