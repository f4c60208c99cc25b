/** Programs of a machine that goes on with another one's memory. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { BootPort } from "../../../../src/host/qemu/BootPort.ts"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { Runtime, type SandboxSpec } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output, run, shell } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
/** So long a copy runs before it gets its identity: what its programs could do meanwhile is many lines. */
const LATE_MS = 700

const booted = (sandboxId: string, changes: Partial<SandboxSpec> = {}) =>
  Effect.gen(function* () {
    const driver = yield* Runtime
    const spec = sandboxSpec(sandboxId, changes)
    yield* driver.provision(spec)
    return yield* driver.guest(sandboxId, spec.generation)
  })

afterEach(() => void vi.restoreAllMocks())

/** Tell names and random numbers as fast as they can. Prints the process ids. */
const tellers = `for n in 1 2; do (while :; do
  read -r name < /proc/sys/kernel/hostname; read -r random < /proc/sys/kernel/random/uuid; echo "$name $random"
done) > told-$n 2> /dev/null & echo $!; done`

/** The lines that one has told alone, and not in its source's name before it was copied. */
const ownLines = (told: string, others: ReadonlyArray<string>): ReadonlyArray<string> => {
  const lines = told.split("\n")
  const before = others.map((text) => text.split("\n"))
  const first = lines.findIndex((line, at) => before.some((other) => other[at] !== line))
  return lines.slice(first)
}

describe.skipIf(unusable !== null)("VM driver: snapshots with memory", () => {
  it.live(
    "no program of a copy goes on before it has its own name and its own random numbers",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        const giveIdentity = BootPort.prototype.ownIdentity
        vi.spyOn(BootPort.prototype, "ownIdentity").mockImplementation(async function (this: BootPort, ...given) {
          await sleep(LATE_MS)
          await giveIdentity.apply(this, given)
        })
        const source = yield* booted("source")
        const ids = (yield* output(source, tellers)).replaceAll("\n", " ")
        const settled = (guest: Guest) =>
          Effect.gen(function* () {
            yield* output(guest, `kill ${ids}; sync`)
            return yield* Effect.forEach([1, 2], (n) =>
              Effect.map(
                run(guest, shell(`cat told-${n}`, { output: { mode: "head", bytes: 64 * MiB } })),
                ({ stdout }) => stdout.trim()
              )
            )
          })
        yield* eventually(Effect.map(output(source, "wc -l < told-2"), (n) => Number(n) > 20))
        yield* driver.snapshots.capture("snap", "source", true)
        yield* booted("one", { snapshotId: "snap" })
        yield* booted("two", { snapshotId: "snap" })
        yield* driver.suspend("two", 1)
        yield* driver.snapshots.capture("asleep", "two", true)
        const three = yield* booted("three", { snapshotId: "asleep" })
        yield* driver.provision(sandboxSpec("two", { snapshotId: "snap" }))
        const one = yield* driver.guest("one", 1)
        const two = yield* driver.guest("two", 1)
        for (const guest of [source, one, two, three]) {
          yield* eventually(
            Effect.map(output(guest, "for n in 1 2; do tail -n 1 told-$n; done; hostname"), (text) => {
              const words = text.split(/\s/)
              return words[0] === words.at(-1) && words[2] === words.at(-1)
            })
          )
        }
        const told = yield* Effect.forEach([source, one, two, three], settled)
        const names = ["source", "one", "two", "three"]
        const random: Array<string> = []
        for (const [at, name] of names.entries()) {
          for (const file of [0, 1]) {
            const others = told.filter((_, other) => other !== at).map((texts) => texts[file]!)
            // The first may have been begun before the copy was made.
            const own = ownLines(told[at]![file]!, others).slice(1)
            expect(own.length).toBeGreaterThan(0)
            // A shell reads a name byte by byte: one that stood in between has the begin of the old name and the end of the new.
            const between = own.findIndex((line) => line.startsWith(`${name} `)) - 1
            const isTwos = (line: string, at: number) =>
              name === "three" && (line.startsWith("two ") || (at === between && /^tw(ree|oee) /.test(line)))
            expect(own.filter((line, at) => !line.startsWith(`${name} `) && !isTwos(line, at))).toEqual([])
            random.push(...own.filter((line) => line.startsWith(`${name} `)).map((line) => line.split(" ")[1]!))
          }
        }
        expect(new Set(random).size).toBe(random.length)
      }).pipe(Effect.provide(freshDriver())),
    TIMEOUT_MS
  )
})
