/** What a guest makes of the lines at its boot port, when services are killed in the middle of one, or speak badly. */
import { once } from "node:events"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { connectUnix } from "../../../../src/host/linux/unixSocket.ts"
import { timespecEscapes } from "../../../../src/host/qemu/BootPort.ts"
import { SandboxFolder } from "../../../../src/host/qemu/SandboxFolder.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

/** Writes the pieces one after the other, and reads until that many answers came. */
const conversation = async (path: string, pieces: ReadonlyArray<string>, answers: number) => {
  const socket = await connectUnix(path)
  let said = ""
  socket.setEncoding("utf8").on("data", (more: string) => {
    said += more
  })
  const lines = () => said.split("\n").slice(0, -1)
  try {
    for (const piece of pieces) {
      socket.write(piece)
      // Each piece is read by itself.
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    while (lines().length < answers) await once(socket, "data")
    return lines()
  } finally {
    socket.destroy()
  }
}

const now = () => timespecEscapes(Date.now())

describe.skipIf(unusable !== null)("a guest's boot port", () => {
  it.live(
    "goes on after a line that was cut off, a long one and a wrong one, and answers each request once and in order",
    () =>
      Effect.gen(function* () {
        const folder = yield* scopedFolder
        const on = <A, E>(effect: Effect.Effect<A, E, Runtime>) => effect.pipe(Effect.provide(driverOn(folder)))
        const driver = Runtime.pipe(Effect.tap((it) => it.provision(sandboxSpec("spoken"))))
        yield* on(driver)
        const path = new SandboxFolder(`${folder}/runtime/qemu`, "spoken").file("bootSocket")
        const talk = (pieces: ReadonlyArray<string>, answers: number) =>
          Effect.promise(() => conversation(path, pieces, answers))

        // A service is killed in the middle of its first line; the next one begins with a line break.
        expect(yield* talk(["\nname cut"], 0)).toEqual([])
        expect(yield* talk([`\nclock a ${now()}\n`], 2)).toEqual([expect.stringMatching(/^cut failed/), "a ready"])
        // In any pieces, and several in one write.
        expect(yield* talk(["\nclo", "ck b ", `${now()}`, "\n"], 1)).toEqual(["b ready"])
        const some = `\nflush c\nname d ${now()} called-d\nadjustment e\nflush f\n`
        expect(yield* talk([some], 4)).toEqual([
          "c ready",
          "d ready",
          expect.stringMatching(/^e ready \d+ -?\d+$/),
          "f ready"
        ])

        const wrong = [
          "clock g",
          "clock h \\000",
          `clock i ${now().slice(0, -1)}8`,
          `name j ${now()}`,
          `identity k ${now()} name`,
          "unknown l words",
          "lonely",
          `flush ${"x".repeat(10_000)}`
        ]
        const answers = yield* talk([`\n${wrong.join("\n")}\n`, `\nflush m\n`], 6)
        expect(answers.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
          ...["g failed", "h failed", "i failed", "j failed", "k failed"],
          "m ready"
        ])

        yield* on(
          Effect.gen(function* () {
            const driver = yield* Runtime
            const guest = yield* driver.guest("spoken", 1)
            const [name, time] = (yield* output(guest, "hostname; date +%s%3N")).split("\n")
            expect(name).toBe("called-d")
            expect(Math.abs(Number(time) - Date.now())).toBeLessThan(20_000)
            yield* destroyAll(driver)
          })
        )
      }).pipe(Effect.scoped),
    TIMEOUT_MS
  )
})
