/** What `atoll doctor` finds of hosts that leave a fleet. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { type HostRow, Hosts } from "../../../../src/fleet/Hosts.ts"
import { hostsFinding } from "../../../../src/ops/doctor/hostsFinding.ts"

const host = (id: string, state: string, snapshots: number | null, bound: number | null, images: number | null) =>
  ({ id, state, snapshotsOnlyHere: snapshots, snapshotsBound: bound, imagesOnlyHere: images }) as HostRow

const findingOf = (list: Hosts["Service"]["list"]) =>
  Effect.provideService(hostsFinding, Hosts, { list } as Hosts["Service"])

it.effect("atoll doctor names drained and lost hosts with what no other host has", () =>
  Effect.gen(function* () {
    const calm = [host("host_a", "ready", null, null, null), host("host_b", "draining", 0, 0, 0)]
    assert.deepInclude(yield* findingOf(Effect.succeed(calm)), { name: "hosts", state: "ok", mend: null })
    const found = yield* findingOf(
      Effect.succeed([...calm, host("host_c", "draining", 2, 1, 0), host("host_d", "lost", 0, 0, 1)])
    )
    assert.deepInclude(found, {
      state: "limited",
      found:
        "host_c (draining): 2 snapshots are still only here, 1 with memory, which cannot be copied. host_d (lost): 1 uploaded image is still only here."
    })
    const many = yield* findingOf(
      Effect.succeed(Array.from({ length: 10 }, (_, at) => host(`host_${at}`, "lost", 1, 0, 0)))
    )
    assert.match(many?.found ?? "", /host_7 \(lost\): 1 snapshot is still only here\. And 2 more hosts\.$/)
  })
)

it.effect("atoll doctor says nothing of the hosts of a database of another version", () =>
  Effect.gen(function* () {
    assert.isNull(yield* findingOf(Effect.die(new Error('column "images" does not exist'))))
  })
)
