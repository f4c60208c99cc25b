/** What forms say of a Sandbox, and what the service is asked for then. */
import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import {
  changesOf,
  type Given,
  inField,
  newOf,
  pairsInField
} from "../../../../src/console/pages/sandboxes/sandboxForm.ts"
import { secondsOf, spanOf } from "../../../../src/console/pages/sandboxes/span.ts"
import { FieldFaults } from "../../../../src/console/pages/ui/fieldFaults.ts"

const nothing: Given = {
  name: "",
  metadata: "",
  env: "",
  stopAfterSeconds: "",
  stopAfterIdleSeconds: "",
  deleteAfterStoppedSeconds: ""
}

const sandboxOf = (some: Partial<Sandbox>): Sandbox =>
  ({
    name: null,
    metadata: {},
    envNames: [],
    lifetime: { stopAfterSeconds: null, stopAfterIdleSeconds: null, deleteAfterStoppedSeconds: null },
    ...some
  }) as Sandbox

/** As the dialog shows it before anybody types. */
const shownOf = (sandbox: Sandbox): Given => ({
  name: inField(sandbox.name),
  metadata: pairsInField(sandbox.metadata)
    .map((pair) => pair.join("="))
    .join("\r\n"),
  env: sandbox.envNames.join("\r\n"),
  stopAfterSeconds: spanOf(sandbox.lifetime.stopAfterSeconds),
  stopAfterIdleSeconds: spanOf(sandbox.lifetime.stopAfterIdleSeconds),
  deleteAfterStoppedSeconds: spanOf(sandbox.lifetime.deleteAfterStoppedSeconds)
})

it("a time is read as it is written, to the second", () => {
  assert.deepStrictEqual(
    ["30 min", "1h30min", "7 d", "90", " 0 ", "1 d 1 s", ""].map((text) => secondsOf("Time", text)),
    [1800, 5400, 604_800, 90, 0, 86_401, null]
  )
  assert.deepStrictEqual([null, 0, 59, 5400, 86_401].map(spanOf), ["", "0 s", "59 s", "1 h 30 min", "1 d 1 s"])
  fc.assert(fc.property(fc.nat(315_360_000), (seconds) => secondsOf("Time", spanOf(seconds)) === seconds))
  for (const text of ["soon", "-5", "1.5 h", "5 m", "min", "1 h and"]) {
    assert.throws(
      () => secondsOf("Stop after", text),
      `Stop after: “${text}” is not a time such as 30 min, 8 h or 7 d.`
    )
  }
})

it("what is asked for when one is made is what was typed; an empty lifetime is none", () => {
  assert.deepStrictEqual(newOf(nothing), { name: null, metadata: {}, env: {}, lifetime: null })
  assert.deepStrictEqual(
    newOf({
      ...nothing,
      name: " mine ",
      metadata: "team = a b \r\n\r\nnote=x=y",
      env: "TOKEN= with spaces =\r\nEMPTY=",
      stopAfterIdleSeconds: "30 min"
    }),
    {
      name: "mine",
      metadata: { team: "a b", note: "x=y" },
      env: { TOKEN: " with spaces =", EMPTY: "" },
      lifetime: { stopAfterSeconds: null, stopAfterIdleSeconds: 1800, deleteAfterStoppedSeconds: null }
    }
  )
  assert.throws(() => newOf({ ...nothing, env: "TOKEN" }), "Variables: “TOKEN” has no value: write TOKEN=value.")
  assert.throws(() => newOf({ ...nothing, metadata: "=b" }), "Metadata: “=b” is not of the form key=value.")
})

it("a form names all of its mistakes, each under the name of its field", () => {
  const given = { ...nothing, env: "TOKEN", metadata: "=b", stopAfterSeconds: "soon", deleteAfterStoppedSeconds: "-1" }
  for (const read of [() => newOf(given), () => changesOf(sandboxOf({}), given)]) {
    try {
      read()
      assert.fail("It was taken.")
    } catch (fault) {
      assert.instanceOf(fault, FieldFaults)
      assert.sameMembers(Object.keys(fault.mistakes), [
        "env",
        "metadata",
        "stopAfterSeconds",
        "deleteAfterStoppedSeconds"
      ])
    }
  }
})

it("what nobody changed in a form is not asked for, whatever a Sandbox is called and labelled", () => {
  const text = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("__proto__", "a=b", " a ", "a\nb", "a\r", "=", ""))
  const seconds = fc.option(fc.nat(315_360_000))
  fc.assert(
    fc.property(
      fc.option(text.filter((name) => name !== "")),
      fc.dictionary(text, text, { maxKeys: 5 }),
      fc.uniqueArray(fc.constantFrom("TOKEN", "PATH", "_x", "constructor")),
      fc.record({
        stopAfterSeconds: seconds,
        stopAfterIdleSeconds: seconds,
        deleteAfterStoppedSeconds: seconds,
        stopAt: fc.constant(null),
        idleStopAt: fc.constant(null),
        deleteAt: fc.constant(null)
      }),
      (name, metadata, envNames, lifetime) => {
        const sandbox = sandboxOf({ name, metadata, envNames, lifetime })
        assert.isNull(changesOf(sandbox, shownOf(sandbox)))
      }
    )
  )
})

it("only what differs is asked for: a pair that was taken away is removed, a name alone keeps its value", () => {
  const sandbox = sandboxOf({
    name: "before",
    metadata: { team: "a", note: "two\nlines", stays: "1" },
    envNames: ["KEPT", "OLD", "TOKEN"],
    lifetime: { ...sandboxOf({}).lifetime, stopAfterSeconds: 3600, deleteAfterStoppedSeconds: 86_400 }
  })
  const shown = shownOf(sandbox)
  assert.strictEqual(shown.metadata, "team=a\r\nstays=1")
  assert.deepStrictEqual(
    changesOf(sandbox, {
      ...shown,
      name: "",
      metadata: "stays=1\r\nnew=2",
      env: "KEPT\r\nTOKEN=other\r\nMORE=1",
      stopAfterSeconds: "",
      stopAfterIdleSeconds: "10 min"
    }),
    {
      name: null,
      metadata: { new: "2", team: null },
      env: { TOKEN: "other", MORE: "1", OLD: null },
      lifetime: { stopAfterSeconds: null, stopAfterIdleSeconds: 600 }
    }
  )
  assert.throws(
    () => changesOf(sandbox, { ...shown, env: "KEPT\r\nNEW" }),
    "Variables: “NEW” has no value: write NEW=value."
  )
})
