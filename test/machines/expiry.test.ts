/** What a reader is told of a way's end, held against the deadline that the machine itself schedules. */
import { assert, describe, it } from "vitest"
import { connectionGrantMachine } from "../../machines/connectionGrant.ts"
import { lastsAt } from "../../machines/expiry.ts"
import { previewMachine } from "../../machines/preview.ts"
import { serviceAccessMachine } from "../../machines/serviceAccess.ts"
import { begin, decide, stamp } from "../../src/actor/Transition.ts"

const at = 1_800_000_000_000
const boot = { accountId: "acc", sandboxId: "sbx", generation: 1, at }

const ways = [
  {
    machine: previewMachine,
    input: { ...boot, previewSha256: "00", port: 80, lifetimeMs: 1000.5 },
    confirmed: "TUNNEL_OPEN",
    endsAt: at + 1001
  },
  {
    machine: serviceAccessMachine,
    input: { ...boot, generationId: "g", ports: [80], requestedAt: at - 300, lifetimeMs: 1000 },
    confirmed: "SANDBOX_CONFIRMED",
    endsAt: at + 700
  },
  {
    machine: connectionGrantMachine,
    input: { ...boot, endpointId: "ep", publicKeys: [], grantMs: 1000 },
    confirmed: "SANDBOX_CONFIRMED",
    endsAt: at + 1000
  }
] as const

describe.each(ways)("$machine.id", ({ machine, input, confirmed, endsAt }) => {
  it("reads as lasting until the instant of its machine's deadline, and not at it", () => {
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
})
