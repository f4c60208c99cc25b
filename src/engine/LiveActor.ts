/** One actor in memory: its committed snapshot, its mailbox, and its running commands. */
import { type Fiber, Schema } from "effect"
import type { ShardId } from "effect/cluster"
import type { AnyMachineSnapshot } from "xstate"
import type { ActorRow, Deadlines, PendingCommand, StoredSnapshot } from "../store/JournalRecord.ts"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import { StateUnusable } from "./ActorError.ts"
import type { Message } from "./Message.ts"
import { restore } from "./Transition.ts"

export class LiveActor {
  readonly id: string
  readonly definition: ActorDefinition
  readonly shard: ShardId.ShardId
  /** The shard's epoch when the actor was read: in a later epoch this state may be out of date. */
  readonly epoch: number
  readonly mailbox: Array<Message> = []
  readonly running = new Map<string, { readonly lane: string | null; readonly fiber: Fiber.Fiber<unknown, unknown> }>()
  /** True while the actor loads or a commit is being written. */
  busy = true
  dropped = false
  lastUsedAt: number
  accountId = ""
  sandboxId = ""
  revision = 0
  snapshot!: AnyMachineSnapshot
  /** The snapshot as the row has it: of an older machine version until the first commit. */
  stored!: StoredSnapshot
  /** The version that stored it. */
  storedVersion = 0
  pending: ReadonlyArray<PendingCommand> = []
  deadlines: Deadlines = {}
  /** The timestamp of its last transition. */
  changedAt = 0

  constructor(id: string, definition: ActorDefinition, shard: ShardId.ShardId, epoch: number, now: number) {
    this.id = id
    this.definition = definition
    this.shard = shard
    this.epoch = epoch
    this.lastUsedAt = now
  }

  /** Throws StateUnusable for a state unknown to this version. */
  become(row: ActorRow) {
    const { definition } = this
    const unusable = (why: string) =>
      new StateUnusable({ actorId: row.id, message: `The stored state of ${row.id} cannot be used here: ${why}.` })
    if (row.machineVersion > definition.version) {
      throw unusable(
        `its machine's version is ${row.machineVersion}, and ${definition.version} is the newest that is known`
      )
    }
    const stored =
      row.machineVersion < definition.version && definition.migrate !== undefined
        ? definition.migrate(row.snapshot, row.machineVersion)
        : row.snapshot
    if (definition.machine.states[stored.value] === undefined) throw unusable("its machine has no such state")
    if (definition.context !== undefined && !Schema.is(definition.context)(stored.context)) {
      throw unusable("its context does not have the machine's shape")
    }
    this.accountId = row.accountId
    this.sandboxId = row.sandboxId
    this.revision = row.revision
    this.stored = row.snapshot
    this.storedVersion = row.machineVersion
    this.snapshot = restore(definition.machine, stored)
    this.pending =
      definition.presentCommand === undefined
        ? row.pending
        : row.pending.map((command) => ({ ...command, type: definition.presentCommand!(stored.value, command.type) }))
    this.deadlines = row.deadlines
    this.changedAt = row.changedAt
  }

  /** The timestamp of a transition now. Host clocks may step back; an actor's time never does. */
  instantAt(now: number): number {
    return Math.max(now, this.changedAt)
  }

  state(): ActorState {
    return {
      id: this.id,
      kind: this.definition.kind,
      accountId: this.accountId,
      sandboxId: this.sandboxId,
      revision: this.revision,
      value: this.snapshot.value as string,
      context: this.snapshot.context
    }
  }

  get isIdle() {
    return !this.busy && this.mailbox.length === 0 && this.running.size === 0
  }
}
