/** An actor that another process has made and wakes here: its pending work belongs to the trace of its maker. */
import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Option, type Tracer } from "effect"
import { setup } from "xstate"
import type { CommandRunner } from "../../../src/engine/CommandRunner.ts"
import { DeadlineTimers } from "../../../src/engine/DeadlineTimers.ts"
import { unawaited } from "../../../src/engine/Message.ts"
import { OwnActors } from "../../../src/engine/OwnActors.ts"
import { allShards } from "../../../src/engine/shards.ts"
import type { ActorRow } from "../../../src/store/JournalRecord.ts"
import { SpanRecorder } from "../../support/SpanRecorder.ts"

const definition = {
  kind: "test",
  version: 1,
  machine: setup({}).createMachine({ initial: "open", states: { open: {} } }),
  commands: {}
}

const row: ActorRow = {
  id: "one",
  kind: "test",
  accountId: "acc",
  sandboxId: "sbx",
  machineVersion: 1,
  revision: 1,
  snapshot: { value: "open", context: {} },
  pending: [{ key: "1.0", type: "provision", params: null }],
  deadlines: {},
  changedAt: 0
}

/** The spans with which the one pending command began. */
const begunWith = Effect.fnUntraced(function* (deliver: (actors: OwnActors) => void) {
  const spans: Array<Tracer.AnySpan | null> = []
  const commands: Pick<CommandRunner, "start" | "endAll"> = {
    start: (_actor, _command, span) => void spans.push(span),
    endAll: () => {}
  }
  const actors = new OwnActors(
    { mailboxMax: 10, passivateAfterMs: 1000, ownerPatienceMs: 1000, passOnWithinMs: 60_000 },
    {
      journal: { load: () => Effect.as(Effect.yieldNow, row) } as never,
      sharding: { getShardId: () => allShards[0], hasShardId: () => true } as never,
      epochs: { of: () => 1 },
      clock: yield* Clock.Clock,
      timers: yield* DeadlineTimers.make(1000),
      fork: Effect.runFork,
      traced: null,
      commands: () => commands as CommandRunner,
      definitionOf: () => definition,
      committed: () => {},
      carry: () => {}
    }
  )
  deliver(actors)
  while (spans.length === 0) yield* Effect.yieldNow
  return spans
})

it.effect("the span of a wake is that of the commands, and not that of a message for the actor", () =>
  Effect.gen(function* () {
    const span = new SpanRecorder().tracer.span({
      name: "made elsewhere",
      parent: Option.none(),
      annotations: Context.empty(),
      links: [],
      startTime: 0n,
      kind: "internal",
      root: true,
      sampled: true
    })
    const woken = yield* begunWith((actors) => actors.deliver(definition, "one", unawaited(null, "wake", { span })))
    assert.deepStrictEqual(woken, [span])
    const asked = yield* begunWith((actors) =>
      actors.deliver(definition, "one", unawaited({ type: "ASKED" }, "client", { span }))
    )
    assert.deepStrictEqual(asked, [null])
  })
)
