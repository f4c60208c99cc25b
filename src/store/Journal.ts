/**
 * The journal: makes an actor's transitions durable.
 *
 * Group commit: records accumulate during the previous write, and one statement over `unnest` writes them all.
 * Each update carries `where revision = n - 1`, so two owners of one actor can never both commit.
 *
 * @source design.md "The actor"; lab.md "Durable transitions" (two connections overlap one's fsync with the other's work)
 */
import type { PgClient } from "@effect/sql-pg"
import { Cause, Context, Effect, Layer, Queue, type Tracer } from "effect"
import { spanOf, tracing } from "../platform/trace/Tracing.ts"
import { JournalDatabase } from "./Database.ts"
import { DatabaseWatch } from "./DatabaseWatch.ts"
import { type EncodedCommit, type EncodedInsert, encodeCommit, encodeInsert } from "./JournalEncoding.ts"
import type { ActorCommit, ActorInsert, ActorRow, CommitOutcome } from "./JournalRecord.ts"
import { insertActors, updateActors } from "./JournalStatements.ts"
import { type Job, serveQueue, settle } from "./journalQueue.ts"
import { readActorRows, readWaiting } from "./journalReads.ts"
import { batchWriter, type JournalWriting } from "./journalWrites.ts"

interface Load {
  readonly id: string
}

const writersDefault = 2

let tokens = 0
const tokenPrefix = `${process.pid.toString(36)}-${Date.now().toString(36)}-${Math.floor(Math.random() * 2 ** 32).toString(36)}-`

type WrittenListener = (accountIds: ReadonlyArray<string>) => void

class WrittenListeners {
  readonly #listeners = new Set<WrittenListener>()

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  /** Call the result to hear no more. */
  add(listener: WrittenListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(accountIds: ReadonlyArray<string>): void {
    for (const listener of this.#listeners) {
      try {
        listener(accountIds)
      } catch (defect) {
        process.emitWarning(`A listener of the journal failed: ${String(defect)}`)
      }
    }
  }
}

export class Journal extends Context.Service<
  Journal,
  {
    /**
     * Calls back once the outcome is durable. While the database does not answer, the batch is retried and the callback waits.
     *
     * @param span The parent span of the write.
     */
    readonly commit: (commit: ActorCommit, done: (outcome: CommitOutcome) => void, span?: Tracer.AnySpan | null) => void
    /** `fenced`: the id or the idempotency key already exists. */
    readonly insert: (actor: ActorInsert) => Effect.Effect<CommitOutcome>
    readonly load: (id: string) => Effect.Effect<ActorRow | null>
    /** Reports, after each commit of this process, the accounts whose actors have new transitions; possibly more than once. Call the result to unsubscribe. */
    readonly onWritten: (listener: (accountIds: ReadonlyArray<string>) => void) => () => void
    /** Reports transitions that a caller wrote in its own transaction; call it after the commit. */
    readonly tellWritten: (accountIds: ReadonlyArray<string>) => void
    /** Actors with a pending command, or with a deadline up to `dueBefore`. */
    readonly waiting: (dueBefore: number) => Effect.Effect<
      ReadonlyArray<{
        readonly id: string
        readonly kind: string
        readonly revision: number
        readonly hasPending: boolean
        readonly dueAt: number | null
      }>
    >
  }
>()("atoll/store/Journal") {
  static readonly layer = Layer.effect(
    Journal,
    Effect.gen(function* () {
      const sql = yield* JournalDatabase
      const traced = yield* tracing
      // One writer for each connection: ATOLL_JOURNAL_CONNECTIONS.
      const writers = (sql.config as PgClient.PgPoolConfig).maxConnections ?? writersDefault
      const { untilServed, patiently } = yield* DatabaseWatch
      const commits = yield* Queue.unbounded<Job<EncodedCommit, CommitOutcome>>()
      const inserts = yield* Queue.unbounded<Job<EncodedInsert, CommitOutcome>>()
      const loads = yield* Queue.unbounded<Job<Load, Effect.Effect<ActorRow | null>>>()

      const listeners = new WrittenListeners()
      const writing: JournalWriting = {
        sql,
        untilServed,
        traced,
        onWritten: (accountIds) => {
          if (!listeners.isEmpty) listeners.tell(accountIds())
        }
      }

      const writeCommits = yield* batchWriter<EncodedCommit>(writing, "commits", commits, (items, tokens) =>
        updateActors(sql, items, tokens)
      )
      const writeInserts = yield* batchWriter<EncodedInsert>(writing, "inserts", inserts, (items, tokens) =>
        insertActors(sql, items, tokens)
      )

      const readLoads = (jobs: ReadonlyArray<Job<Load, Effect.Effect<ActorRow | null>>>) =>
        readActorRows(
          sql,
          jobs.map((job) => job.item.id)
        ).pipe(
          untilServed,
          Effect.matchCauseEffect({
            onSuccess: (byId) => settle(jobs, (job) => Effect.succeed(byId.get(job.item.id) ?? null)),
            onFailure: (cause) => settle(jobs, () => Effect.die(Cause.squash(cause)))
          })
        )

      yield* serveQueue("journal commits", commits, writeCommits, writers)
      yield* serveQueue("journal inserts", inserts, writeInserts, 1)
      yield* serveQueue("journal loads", loads, readLoads, 1)

      const nextToken = () => tokenPrefix + (++tokens).toString(36)
      const ask = <A, R, B>(
        queue: Queue.Queue<Job<A, R>>,
        item: A,
        answer: (outcome: R) => Effect.Effect<B>,
        span: Tracer.AnySpan | null
      ) =>
        patiently<B, never>((resume) => {
          Queue.offerUnsafe(queue, {
            item,
            token: nextToken(),
            askedAt: performance.now(),
            span,
            done: (outcome) => resume(answer(outcome))
          })
        })

      return Journal.of({
        commit: (commit, done, span = null) => {
          let item: EncodedCommit
          try {
            item = encodeCommit(commit)
          } catch {
            return done("failed")
          }
          Queue.offerUnsafe(commits, { item, token: nextToken(), askedAt: performance.now(), span, done })
        },
        onWritten: (listener) => listeners.add(listener),
        tellWritten: (accountIds) => listeners.tell(accountIds),
        insert: (actor) =>
          Effect.withFiber((fiber) =>
            ask(inserts, encodeInsert(actor), Effect.succeed, traced === null ? null : spanOf(fiber))
          ),
        load: (id) => ask(loads, { id }, (found) => found, null),
        waiting: (dueBefore) => readWaiting(sql, dueBefore).pipe(untilServed, Effect.orDie)
      })
    })
  )
}
