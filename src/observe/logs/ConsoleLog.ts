/** The Sandboxes' own consoles, stored as the log source `workload`. */
import { Clock, Effect, Layer, Stream } from "effect"
import { OutputSplit } from "../../operation/OutputSplit.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { Runtime } from "../../runtime/Runtime.ts"
import { Output } from "../../store/Output.ts"

/** The owner of one generation's console in the output store. */
export const consoleOwner = (sandboxId: string, generation: number) => `console:${sandboxId}:${generation}`

export const ConsoleLog = {
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const runtime = yield* Runtime
      const output = yield* Output
      yield* runtime.console.pipe(
        Stream.runForEach(
          Effect.fnUntraced(
            function* ({ sandboxId, generation, offset, bytes }) {
              // One reader serves all consoles, so it waits for none: output beyond a Sandbox's rate becomes a gap before its next output.
              if ((yield* output.heldBackMs(sandboxId)) > 0) return
              const ownerId = consoleOwner(sandboxId, generation)
              const stored = yield* output.offsetsAtLast(ownerId)
              const at = yield* Clock.currentTimeMillis
              const pieces = new OutputSplit(stored.stdout).take([{ offset, bytes }], true)
              yield* output.append(
                pieces.map((piece) => ({
                  ownerId,
                  stream: "stdout" as const,
                  sandboxId,
                  source: "workload" as const,
                  at,
                  ...piece
                })),
                { waits: false }
              )
            },
            Effect.retry({ while: (error) => error._tag === "Overtaken" })
          )
        ),
        Effect.andThen(Effect.never),
        (consoles) => worker("console log", consoles)
      )
    })
  )
}
