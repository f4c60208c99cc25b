/**
 * Actors that other processes own: sends messages to them, and serves their requests for actors of this process.
 *
 * Faults of remote calls end here: an interruption of the call does not interrupt the caller, and a hanging call is abandoned.
 */
import { Effect, Exit, Fiber, Option, type Scope } from "effect"
import type { ActorDefinition, ActorState } from "./ActorDefinition.ts"
import type { ActorForward, ActorOwner } from "./ActorEntity.ts"
import {
  ActorFailed,
  ActorMoved,
  ActorNotFound,
  EventRefused,
  KeyContended,
  MailboxFull,
  OwnerAway
} from "./ActorError.ts"
import type { CommitListeners } from "./CommitListeners.ts"
import { type Message, unawaited } from "./Message.ts"
import type { OwnActors } from "./OwnActors.ts"
import { metDefect, toldDefect } from "./ownerDefect.ts"

const forwardAgainMs = 50
const followAgainMs = 500

/** The owner's answer; null: no process answered. */
export type Answer = ActorState | EventRefused | ActorNotFound | MailboxFull | KeyContended | ActorFailed | null

const answerOf = (exit: Exit.Exit<ActorState, unknown> | null): Answer => {
  if (exit === null) return null
  if (Exit.isSuccess(exit)) return exit.value
  const error = Option.getOrNull(Exit.findErrorOption(exit))
  return error instanceof EventRefused ||
    error instanceof ActorNotFound ||
    error instanceof MailboxFull ||
    error instanceof KeyContended ||
    error instanceof ActorFailed
    ? error
    : null
}

export class OtherOwners {
  readonly #actors: OwnActors
  readonly #listeners: CommitListeners
  readonly #ownerPatienceMs: number
  readonly #scope: Scope.Scope
  readonly #forwards = new Map<string, ActorForward>()
  readonly #owners = new Map<string, ActorOwner>()
  readonly #followers = new Set<{ readonly id: string; readonly moved: () => void }>()

  /** `ownerPatienceMs`: how long a message looks for an owner. */
  constructor(actors: OwnActors, listeners: CommitListeners, ownerPatienceMs: number, scope: Scope.Scope) {
    this.#actors = actors
    this.#listeners = listeners
    this.#ownerPatienceMs = ownerPatienceMs
    this.#scope = scope
  }

  /** Registers the client and the server side of a kind. */
  reach(kind: string, forward: ActorForward, owner: ActorOwner): void {
    this.#forwards.set(kind, forward)
    this.#owners.set(kind, owner)
  }

  #apart<A>(attempt: Effect.Effect<A, unknown>, withinMs: number) {
    return Effect.flatMap(Effect.forkIn(attempt, this.#scope), (fiber) =>
      Effect.map(
        Fiber.await(fiber).pipe(
          Effect.timeoutOption(withinMs),
          Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
        ),
        Option.getOrNull
      )
    )
  }

  /** Asks the owner once. */
  ask(kind: string, id: string, message: Message, withinMs: number): Effect.Effect<Answer> {
    return Effect.map(this.#apart(this.#forwards.get(kind)!.deliver(id, message), withinMs), answerOf)
  }

  /** Retries until an owner answers: it may be stopping or dead, or this process may have become the owner. */
  readonly carry: (definition: ActorDefinition, id: string, message: Message) => Effect.Effect<void> =
    Effect.fnUntraced({ self: this }, function* (definition, id, message) {
      const giveUpAt = performance.now() + this.#ownerPatienceMs
      while (!this.#actors.isClosing) {
        if (this.#actors.isOurs(id)) return this.#actors.deliver(definition, id, message)
        const left = giveUpAt - performance.now()
        if (left <= 0) break
        const answer = yield* this.ask(definition.kind, id, message, left)
        if (answer instanceof ActorFailed) return message.die(metDefect(id, answer))
        if (answer instanceof Error) return message.fail(answer)
        if (answer !== null) return message.succeed(answer)
        yield* Effect.sleep(forwardAgainMs)
      }
      message.die(new OwnerAway({ actorId: id }))
    })

  /** Emits the states after a revision, whichever process owns the actor at that time. */
  readonly follow: (
    kind: string,
    id: string,
    revision: number,
    listener: (state: ActorState) => void
  ) => Effect.Effect<never> = Effect.fnUntraced({ self: this }, function* (kind, id, revision, listener) {
    let known = revision
    while (true) {
      const exit = yield* this.#actors.isOurs(id)
        ? Effect.exit(
            Effect.callback<ActorState, unknown>((resume) => this.#owners.get(kind)!.follow(id, known, resume))
          )
        : this.#apart(this.#forwards.get(kind)!.follow(id, known), Number.POSITIVE_INFINITY)
      if (exit !== null && Exit.isSuccess(exit)) {
        known = exit.value.revision
        listener(exit.value)
      } else yield* Effect.sleep(followAgainMs)
    }
  })

  /** Followers of actors that this process no longer owns look for the owner again. */
  tellMoved(): void {
    for (const { id, moved } of this.#followers) if (!this.#actors.isOurs(id)) moved()
  }

  /** Serves other processes for the actors of a kind that this process owns. */
  ownerOf(definition: ActorDefinition): ActorOwner {
    return {
      deliver: (id, message) => this.#actors.deliver(definition, id, message),
      follow: (id, revision, resume) => {
        const end: typeof resume = (outcome) => {
          forget()
          resume(outcome)
        }
        const look = (state: ActorState) => {
          if (state.revision > revision) end(Effect.succeed(state))
        }
        const follower = { id, moved: () => end(Effect.fail(new ActorMoved({ actorId: id }))) }
        const forget = () => {
          this.#followers.delete(follower)
          this.#listeners.remove(id, look)
        }
        this.#followers.add(follower)
        this.#listeners.add(id, look)
        this.#actors.deliver(definition, id, {
          ...unawaited(null, "wake", { succeed: look }),
          fail: (error) => end(Effect.fail(error)),
          die: (defect) => end(Effect.fail(toldDefect(defect))),
          moved: follower.moved
        })
        return Effect.sync(forget)
      }
    }
  }
}
