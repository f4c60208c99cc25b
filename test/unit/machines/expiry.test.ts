/** The published end of an access, compared with the deadline that the machine itself schedules. */
import { assert, describe, it } from "vitest"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { lastsAt } from "../../../machines/expiry.ts"
import { previewMachine } from "../../../machines/preview.ts"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import { begin, decide, restore, stamp, store } from "../../../src/engine/Transition.ts"

const at = 1_800_000_000_000
const boot = { accountId: "acc", sandboxId: "sbx", generation: 1, at }

const ways = [
  {
    machine: previewMachine,
    input: { ...boot, previewSha256: "00", port: 80, lifetimeMs: 1000.5 },
    confirmed: "TUNNEL_OPEN",
    uses: [],
    over: "expiring",
    endsAt: at + 1001
  },
  {
    machine: serviceAccessMachine,
    input: { ...boot, generationId: "g", ports: [80], requestedAt: at - 300, lifetimeMs: 1000 },
    confirmed: "SANDBOX_CONFIRMED",
    uses: [
      { type: "ATTACH", client: "new" },
      { type: "ATTACH", client: "known" }
    ],
    over: "expiring",
    endsAt: at + 700
  },
  {
    machine: connectionGrantMachine,
    input: { ...boot, endpointId: "ep", publicKeys: [], grantMs: 1000 },
    confirmed: "SANDBOX_CONFIRMED",
    uses: [{ type: "CONNECT" }],
    over: "elapsed",
    endsAt: at + 1000
  }
] as const

describe.each(ways)("$machine.id", ({ machine, input, confirmed, uses, over, endsAt }) => {
  it("lasts until the instant of its machine's deadline, and not at it", () => {
    const { snapshot, deadlines } = begin(machine, input)
    assert.deepStrictEqual(deadlines, { expiry: { at: endsAt, event: { type: "EXPIRE" } } })
    assert.isTrue(lastsAt(snapshot.context, endsAt - 1))
    assert.isFalse(lastsAt(snapshot.context, endsAt))
  })

  it("is usable once its Sandbox is confirmed, until the deadline fires, and never before or after", () => {
    const first = begin(machine, input)
    assert.isFalse(first.snapshot.hasTag("usable"))
    const open = decide(machine, first.snapshot, stamp({ type: confirmed }, at), 2, first.deadlines)
    assert(open.type === "accepted")
    assert.isTrue(open.snapshot.hasTag("usable"))
    const { at: due, event } = open.deadlines.expiry!
    const over = decide(machine, open.snapshot, stamp(event, due), 3, open.deadlines)
    assert(over.type === "accepted")
    assert.isFalse(over.snapshot.hasTag("usable"))
  })

  /** Its deadline has not fired: a timer is late, or its process was frozen. */
  const lateBy = [0, 0.5, 60_000]

  it("never opens at or after its end, though its deadline has not fired", () => {
    const first = begin(machine, input)
    const inTime = decide(machine, first.snapshot, stamp({ type: confirmed }, endsAt - 1), 2, first.deadlines)
    assert(inTime.type === "accepted")
    assert.isTrue(inTime.snapshot.hasTag("usable"))
    for (const late of lateBy) {
      const verdict = decide(machine, first.snapshot, stamp({ type: confirmed }, endsAt + late), 2, first.deadlines)
      assert(verdict.type === "accepted")
      assert.strictEqual(verdict.snapshot.value, over)
      assert.deepStrictEqual(verdict.deadlines, {})
    }
  })

  if (uses.length > 0)
    it("is not usable at or after its end, though its deadline has not fired", () => {
      const first = begin(machine, input)
      const open = decide(machine, first.snapshot, stamp({ type: confirmed }, at), 2, first.deadlines)
      assert(open.type === "accepted")
      const known = { ...open.snapshot, context: { ...open.snapshot.context, client: "known" } }
      const snapshot = restore(machine, store(known as typeof open.snapshot))
      for (const use of uses) {
        const inTime = decide(machine, snapshot, stamp(use, endsAt - 1), 3, open.deadlines)
        assert.notStrictEqual(inTime.type, "refused")
        if (inTime.type === "accepted") assert.isTrue(inTime.snapshot.hasTag("usable"))
        for (const late of lateBy) {
          const verdict = decide(machine, snapshot, stamp(use, endsAt + late), 3, open.deadlines)
          assert(verdict.type === "accepted", verdict.type)
          assert.strictEqual(verdict.snapshot.value, over)
        }
      }
    })
})
