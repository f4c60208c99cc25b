/**
 * A host's description of itself, as a service reads it: bounded, and plain text for a terminal, a statement or a
 * metric.
 */
import { PassThrough } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { readAnswer, refusalFrame } from "../../../../src/runtime/distant/agentNaming.ts"
import { HostDescription } from "../../../../src/runtime/distant/HostDescription.ts"
import { ToldConsole, ToldDown } from "../../../../src/runtime/distant/HostRpcs.ts"

const truth = {
  hostId: `host_${"a".repeat(24)}`,
  label: "/var/lib/atoll of machine-1",
  address: { host: "host-1.example.org", port: 7070 },
  installation: null,
  boot: "b00f",
  version: "0.1.0",
  driver: "namespace",
  kind: "namespace",
  capacity: { vcpus: 8, memoryBytes: 8e9, diskBytes: 8e9, parallelStarts: 4 },
  suspends: false,
  networkFiltered: true,
  networkRefused: null
} as const

const read = Schema.decodeUnknownOption(HostDescription)
const said = (changes: Readonly<Record<string, unknown>>) => Option.getOrNull(read({ ...truth, ...changes }))

const untellable = "\u001b[2J\u0000\r\nAll is well.\u009b1m\u2028"
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

describe("a host's description of itself", () => {
  it("is read unchanged, with any address", () => {
    assert.deepStrictEqual(said({}), truth)
    for (const host of ["10.0.0.7", "::1", "fe80::1%eth0", "host_1.inside", "a".repeat(253)]) {
      assert.strictEqual(said({ address: { host, port: 65_535 } })?.address.host, host)
    }
  })

  it("is refused where it would be taken for something else, or exceeds what is possible", () => {
    const { capacity } = truth
    for (const lie of [
      ...["", "host_1", `sbx_${"a".repeat(24)}`, `host_${"a".repeat(24)}"} 1\n`].map((hostId) => ({ hostId })),
      ...["", "a b", "a\nb", "a/b", "a".repeat(254)].map((host) => ({ address: { host, port: 1 } })),
      ...[0, -1, 65_536, 1.5].map((port) => ({ address: { host: "a", port } })),
      ...["", "a b", "a\u0000", "a".repeat(65)].map((boot) => ({ boot })),
      { installation: "x".repeat(65) },
      ...[-1, 0.5, 2 ** 31, Number.NaN, Number.POSITIVE_INFINITY, "8"].flatMap((vcpus) => [
        { capacity: { ...capacity, vcpus } },
        { capacity: { ...capacity, parallelStarts: vcpus } }
      ]),
      ...[-1, 0.5, 2 ** 53, Number.NaN].flatMap((bytes) => [
        { capacity: { ...capacity, memoryBytes: bytes } },
        { capacity: { ...capacity, diskBytes: bytes } }
      ])
    ]) {
      assert.isNull(said(lie), JSON.stringify(lie))
    }
  })

  it("is cut, and shown as text", () => {
    const whole = said({ label: untellable, version: untellable, networkRefused: untellable })!
    for (const shown of [whole.label, whole.version, whole.networkRefused!]) {
      assert.notMatch(shown, control)
      assert.include(shown, "All is well.")
    }
    const long = "x".repeat(1_000_000)
    const { label, version, networkRefused } = said({ label: long, version: long, networkRefused: long })!
    assert.deepStrictEqual([label.length, version.length, networkRefused!.length], [512, 64, 1024])
  })
})

describe("a host's reports about its Sandboxes", () => {
  it("are cut, shown as text, and have no impossible numbers", async () => {
    const told = { sandboxId: "sbx_1", generation: 1 }
    const down = { type: "down", ...told, reason: { code: "CRASHED", message: untellable } }
    const readDown = Schema.decodeUnknownOption(ToldDown)
    assert.notMatch(Option.getOrThrow(readDown(down)).reason.message, control)
    for (const lie of [
      { sandboxId: "a\nb" },
      { sandboxId: "../a" },
      { sandboxId: "a\u0000" },
      { generation: 2 ** 31 }
    ]) {
      assert.isTrue(Option.isNone(readDown({ ...down, ...lie })), JSON.stringify(lie))
    }
    const readConsole = Schema.decodeUnknownOption(ToldConsole)
    const chunk = { ...told, offset: 0, bytes: new Uint8Array(65_536) }
    assert.isTrue(Option.isSome(readConsole(chunk)))
    for (const lie of [{ bytes: new Uint8Array(65_537) }, { offset: 2 ** 52 }]) {
      assert.isTrue(Option.isNone(readConsole({ ...chunk, ...lie })))
    }

    const host = new PassThrough()
    host.write(refusalFrame(untellable))
    const refusal = await readAnswer(host, 60_000)
    assert.notMatch(refusal!, control)
    assert.include(refusal, "All is well.")
  })
})
