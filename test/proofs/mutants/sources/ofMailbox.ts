/** Mistakes of an actor's mailbox and of what surrounds it: order, bounds, epochs, deadlines, commands, followers, leaving. */
import type { TextMutant } from "./TextMutant.ts"

const mailboxes = "src/engine/ActorMailboxes.ts"
const residency = "src/engine/ActorResidency.ts"
const commits = "src/engine/ActorCommits.ts"
const runner = "src/engine/CommandRunner.ts"
const order = "test/unit/engine/mailbox.test.ts"
const tenure = "test/unit/engine/tenure.test.ts"
const host = "test/service/engine/ActorHost.test.ts"
const troubles = "test/service/engine/troubles.test.ts"
const commands = "test/unit/engine/commands.test.ts"
const lanes = "test/service/engine/lanes.test.ts"
const instants = "test/service/engine/instants.test.ts"
const deadlines = "test/service/race/deadlines.test.ts"
const twoOwners = "test/service/sandbox/twoOwners.test.ts"

export const ofMailbox: ReadonlyArray<TextMutant> = [
  {
    id: "a deadline that was moved fires at its old instant",
    file: mailboxes,
    from: "if (deadlines[name]?.at !== at) return",
    to: "if (deadlines[name] === undefined) return",
    suites: [troubles]
  },
  {
    id: "a deadline that fired stays",
    file: mailboxes,
    from: "deadlines = rest",
    to: "void rest",
    suites: [order]
  },
  {
    id: "a command that is done stays pending",
    file: mailboxes,
    from: "if (message.done !== null) pending = pending.filter((command) => command.key !== message.done)",
    to: "",
    suites: [order]
  },
  {
    id: "a message is decided while the one before is being written",
    file: mailboxes,
    from: "while (!actor.busy && !actor.dropped",
    to: "while (!actor.dropped",
    suites: [order, host]
  },
  {
    id: "the newest message is taken first",
    file: mailboxes,
    from: "actor.mailbox.shift()!",
    to: "actor.mailbox.pop()!",
    suites: [order]
  },
  {
    id: "a fenced message is decided after those that waited behind it",
    file: commits,
    from: "else this.#inbox.redeliver(actor, [message])\n    this.#inbox.redeliver(actor, waiting)",
    to: "else return this.#inbox.redeliver(actor, [...waiting, message])\n    this.#inbox.redeliver(actor, waiting)",
    suites: [order]
  },
  {
    id: "a fenced message is lost",
    file: commits,
    from: "else this.#inbox.redeliver(actor, [message])",
    to: "",
    suites: [order, host]
  },
  {
    id: "messages behind a fenced one are lost",
    file: commits,
    from: "    this.#inbox.redeliver(actor, waiting)",
    to: "",
    suites: [order, troubles]
  },
  {
    id: "a message that lost its key to another is decided again",
    file: commits,
    from: "message.fail(new KeyContended({ actorId: actor.id }))",
    to: "this.#inbox.redeliver(actor, [message])",
    suites: [troubles]
  },
  {
    id: "a mailbox takes one message too many",
    file: mailboxes,
    from: "actor.mailbox.length >= this.#options.mailboxMax",
    to: "actor.mailbox.length > this.#options.mailboxMax",
    suites: [troubles]
  },
  {
    id: "a message never stops to look for an owner",
    file: mailboxes,
    from: "{ ...message, lookingSince }",
    to: "message",
    suites: [order]
  },
  {
    id: "a process that was frozen passes its messages on",
    file: mailboxes,
    from: " || now - (message.arrivedAt ?? now) > passOnWithinMs",
    to: "",
    suites: [order]
  },
  {
    id: "the owner of before decides although its shard is another's",
    file: mailboxes,
    from: "if (!this.#residency.isOwn(actor)) return this.#residency.leave(actor)",
    to: "",
    suites: [tenure, order]
  },
  {
    id: "what was read in an earlier epoch is believed",
    file: residency,
    from: "&& epochs.of(shard) === epoch",
    to: "",
    suites: [tenure]
  },
  {
    id: "an owner decides on an older state than its sender has read",
    file: residency,
    from: "actor.revision >= revision",
    to: "actor.revision >= 0",
    suites: [order, twoOwners]
  },
  {
    id: "an owner decides on a read that is older than its sender's",
    file: mailboxes,
    from: "if (revision > actor.revision) return this.#residency.catchUp(actor.id, revision)",
    to: "",
    suites: [order]
  },
  {
    id: "an actor's time runs backwards with its host's clock",
    file: "src/engine/LiveActor.ts",
    from: "return Math.max(now, this.changedAt)",
    to: "return now",
    suites: [instants]
  },
  {
    id: "a snapshot of an older version is loaded as it is",
    file: "src/engine/LiveActor.ts",
    from: "row.machineVersion < definition.version && definition",
    to: "row.machineVersion < 0 && definition",
    suites: ["test/service/engine/versions.test.ts"]
  },
  {
    id: "a state of a newer version is loaded",
    file: "src/engine/LiveActor.ts",
    from: "if (row.machineVersion > definition.version)",
    to: "if (row.machineVersion < 0)",
    suites: [troubles]
  },
  {
    id: "a command begins before the one of its lane has ended",
    file: runner,
    from: "Effect.andThen(Fiber.interruptAll(before))",
    to: "Effect.andThen(Effect.void)",
    suites: [lanes]
  },
  {
    id: "a newer command of a lane leaves the older one in the store",
    file: runner,
    from: "lanes.size === 0 ? pending : pending.filter",
    to: "lanes.size >= 0 ? pending : pending.filter",
    suites: [lanes]
  },
  {
    id: "a command that is no longer pending runs on",
    file: runner,
    from: "this.#fork(Fiber.interrupt(left.fiber))",
    to: "",
    suites: [commands]
  },
  {
    id: "the commands of an actor that leaves run on",
    file: runner,
    from: "for (const { fiber } of actor.running.values()) this.#fork(Fiber.interrupt(fiber))",
    to: "",
    suites: [commands]
  },
  {
    id: "an actor that has left starts its command",
    file: runner,
    from: "if (actor.dropped || actor.running.has(command.key)) return",
    to: "if (actor.running.has(command.key)) return",
    suites: [commands]
  },
  {
    id: "a command that runs is started again",
    file: runner,
    from: "if (actor.dropped || actor.running.has(command.key)) return",
    to: "if (actor.dropped) return",
    suites: [commands]
  },
  {
    id: "followers hear of no commit",
    file: mailboxes,
    from: "this.#around.committed(state)",
    to: "",
    suites: [order]
  },
  {
    id: "a pending command is not repeated when its actor is loaded",
    file: residency,
    from: "for (const command of actor.pending) this.#running.restarts.start(actor, command, span)",
    to: "",
    suites: [host]
  },
  {
    id: "a deadline beyond the timers of an actor that stays awake is dropped",
    file: residency,
    from: "else if (actor.revision > 0) deadlines.setTimer(id, definition.kind, earliest(actor.deadlines))",
    to: "",
    suites: [deadlines]
  },
  {
    id: "the deadline of an actor that sleeps is dropped",
    file: residency,
    from: "if (actor === undefined) deadlines.setTimer(id, definition.kind, dueAt)",
    to: "if (actor === undefined) return",
    suites: [order]
  },
  {
    id: "a commit sets no timer",
    file: commits,
    from: "if (!actor.dropped) this.#followers.deadlines.setTimer(actor.id, actor.definition.kind, record.dueAt)",
    to: "",
    suites: [order, deadlines]
  },
  {
    id: "of two deadlines only the first one has a timer",
    file: "src/engine/ActorDeadlines.ts",
    from: "this.setTimer(actor.id, actor.definition.kind, next)",
    to: "",
    suites: [order, deadlines]
  },
  {
    id: "a deadline fires for ever while its commit is being written",
    file: "src/engine/ActorDeadlines.ts",
    from: "if (at > now) next = Math.min(at, next ?? at)",
    to: "next = Math.min(at, next ?? at)\n        if (at > now) continue",
    suites: [deadlines]
  },
  {
    id: "an actor whose command runs leaves memory",
    file: residency,
    from: "else if (actor.isIdle && now",
    to: "else if (!actor.busy && now",
    suites: [order, host]
  },
  {
    id: "a stop does not wait for the commit that is being written",
    file: "src/engine/actorRecovery.ts",
    from: "options.stopWithinMs === 0 ? Effect.void : Effect.timeoutOption(lastCommits, options.stopWithinMs)",
    to: "Effect.void",
    suites: [troubles]
  },
  {
    id: "a command whose result the database refuses is repeated without a pause",
    file: "src/engine/CommandRestarts.ts",
    from: "if (times === undefined) return",
    to: "if (times !== 0) return",
    suites: [troubles]
  },
  {
    id: "a fenced takeover write is reported as committed",
    file: "src/engine/takeOverWrite.ts",
    from: 'if (outcome === "fenced") continue',
    to: "",
    suites: ["test/unit/engine/takeOverWrite.test.ts"]
  },
  {
    id: "a takeover write does not wake the owner for its commands",
    file: "src/engine/takeOverWrite.ts",
    from: 'fork(others.carry(definition, id, unawaited(null, "wake", { revision: actor.revision })))',
    to: "",
    suites: ["test/unit/engine/takeOverWrite.test.ts"]
  },
  {
    id: "a takeover write does not ask the owner first",
    file: "src/engine/takeOverWrite.ts",
    from: "if (answer !== null) return answer\n",
    to: "",
    suites: ["test/unit/engine/takeOverWrite.test.ts"]
  }
]
