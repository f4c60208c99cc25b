/** The actors of one process without a database: a test holds or fences each commit, and moves the shard. */
import { Clock, Effect } from "effect"
import { assign, setup } from "xstate"
import type { ActorDefinition, ActorState, AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import type { OwnActorsOptions } from "../../../src/engine/ActorSurroundings.ts"
import type { CommandRunner } from "../../../src/engine/CommandRunner.ts"
import { DeadlineTimers } from "../../../src/engine/DeadlineTimers.ts"
import type { LiveActor } from "../../../src/engine/LiveActor.ts"
import { type Message, unawaited } from "../../../src/engine/Message.ts"
import { OwnActors } from "../../../src/engine/OwnActors.ts"
import { allShards } from "../../../src/engine/shards.ts"
import type { ActorCommit, ActorRow, CommitOutcome, PendingCommand } from "../../../src/store/JournalRecord.ts"

type Noted = { type: "NOTE"; n: number; at: number } | { type: "ALARM"; when: number; n: number; at: number }

/** Remembers the numbers of its events, in their order. */
const machine = setup({
  types: { context: {} as { seen: ReadonlyArray<number> }, events: {} as Noted },
  actions: {
    noteNumber: assign({ seen: ({ context, event }) => [...context.seen, event.n] }),
    schedule: (_, _params: { name: string; at: number; event: AnyEvent }) => {}
  }
}).createMachine({
  id: "list",
  initial: "open",
  context: { seen: [] },
  states: {
    open: {
      meta: { unchanged: ["LOOK"], refuses: {} },
      on: {
        NOTE: { actions: "noteNumber" },
        ALARM: {
          actions: {
            type: "schedule",
            params: ({ event }) => ({ name: "alarm", at: event.when, event: { type: "NOTE", n: event.n } })
          }
        }
      }
    }
  }
})

const definition = { kind: "list", version: 1, machine, commands: {} } as unknown as ActorDefinition

export const firstRow: ActorRow = {
  id: "one",
  kind: "list",
  accountId: "acc",
  sandboxId: "sbx",
  machineVersion: 1,
  revision: 1,
  snapshot: { value: "open", context: { seen: [] } },
  pending: [],
  deadlines: {},
  changedAt: 0
}

/** What was committed, and what a test makes of the next commit. */
export class World {
  stored = firstRow
  /** What the next owner reads. */
  load: Effect.Effect<ActorRow> = Effect.suspend(() => Effect.as(Effect.yieldNow, this.stored))
  isOwner = true
  /** The outcome of a commit; the test may call back later. */
  outcome: (record: ActorCommit, done: (outcome: CommitOutcome) => void) => void = (_, done) => done("committed")
  /** Messages for another owner. */
  readonly carried: Array<Message> = []
  readonly commits: Array<ActorCommit> = []
  /** The revisions that followers were told. */
  readonly told: Array<number> = []

  get seen(): ReadonlyArray<number> {
    return (this.stored.snapshot.context as { readonly seen: ReadonlyArray<number> }).seen
  }

  commit(record: ActorCommit, done: (outcome: CommitOutcome) => void): void {
    this.commits.push(record)
    this.outcome(record, (outcome) => {
      if (outcome === "committed") {
        const { revision, snapshot } = record
        this.stored = { ...this.stored, revision, snapshot, deadlines: record.deadlines ?? this.stored.deadlines }
      }
      done(outcome)
    })
  }
}

/** Commands run until their actor leaves. */
const endless = {
  start: (actor: LiveActor, command: PendingCommand) =>
    void actor.running.set(command.key, { lane: null, fiber: Effect.runFork(Effect.void) }),
  follow: () => {},
  endAll: (actor: LiveActor) => actor.running.clear()
} as unknown as CommandRunner

const usual: OwnActorsOptions = {
  mailboxMax: 100,
  passivateAfterMs: 3_600_000,
  ownerPatienceMs: 1000,
  passOnWithinMs: 60_000
}

export const actorStage = Effect.fnUntraced(function* (options: Partial<OwnActorsOptions> = {}) {
  const world = new World()
  const actors = new OwnActors(
    { ...usual, ...options },
    {
      journal: {
        load: () => world.load,
        commit: (record: ActorCommit, done: (outcome: CommitOutcome) => void) => world.commit(record, done)
      } as never,
      sharding: { getShardId: () => allShards[0], hasShardId: () => world.isOwner } as never,
      epochs: { of: () => 1 },
      clock: yield* Clock.Clock,
      timers: yield* DeadlineTimers.make(60_000),
      fork: Effect.runFork,
      traced: null,
      commands: () => endless,
      definitionOf: () => definition,
      committed: ({ revision }) => void world.told.push(revision),
      carry: (_, __, message) => void world.carried.push(message)
    }
  )
  const send = (event: AnyEvent, about: Partial<Message> = {}) =>
    Effect.callback<ActorState, unknown>((resume) =>
      actors.deliver(definition, "one", {
        ...unawaited(event, "client", { succeed: (state) => resume(Effect.succeed(state)) }),
        fail: (error) => resume(Effect.fail(error)),
        die: (defect) => resume(Effect.fail(defect)),
        ...about
      })
    )
  const note = (n: number, about: Partial<Message> = {}) => send({ type: "NOTE", n }, about)
  const deliver = (message: Message) => actors.deliver(definition, "one", message)
  return { world, actors, definition, send, note, deliver }
})
