/** The log as a person reads it. */
import { stripVTControlCharacters } from "node:util"
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Logger } from "effect"
import { readableLog } from "../../../src/app/ReadableLog.ts"

const logged = (program: Effect.Effect<void>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const collect = Logger.map(readableLog, (line) => void lines.push(stripVTControlCharacters(line)))
    yield* program.pipe(Effect.provide(Logger.layer([collect])))
    return lines
  })

it.live("a line has the time, any unusual level, and no fiber's number", () =>
  Effect.gen(function* () {
    const lines = yield* logged(
      Effect.all(
        [
          Effect.log("Atoll serves", { port: 1 }),
          Effect.logError("It failed", Cause.fail(new Error("for a reason"))).pipe(
            Effect.annotateLogs({ requestId: "req_1" })
          ),
          Effect.log("request").pipe(Effect.annotateLogs({ requestId: "x status=200", status: 404 }))
        ],
        { discard: true }
      )
    )
    assert.lengthOf(lines, 3)
    assert.match(lines[0]!, /^\d\d:\d\d:\d\d Atoll serves \{ port: 1 \}$/)
    assert.match(lines[1]!, /^\d\d:\d\d:\d\d ERROR It failed requestId=req_1\n\s*Error: for a reason/)
    assert.match(lines[2]!, /^\d\d:\d\d:\d\d request requestId="x status=200" status=404$/)
  })
)
