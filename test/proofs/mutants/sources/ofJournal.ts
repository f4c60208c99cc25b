// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are of sources
/** Mistakes of the journal: commit before answer, fencing by revision, keys, lost answers, and what a row keeps. */
import type { TextMutant } from "./TextMutant.ts"

const statements = "src/store/JournalStatements.ts"
const writes = "src/store/journalWrites.ts"
const journal = "test/service/store/Journal.test.ts"
const rows = "test/service/store/journalStatements.test.ts"
const host = "test/service/engine/ActorHost.test.ts"

export const ofJournal: ReadonlyArray<TextMutant> = [
  {
    id: "a fenced commit takes its key",
    file: statements,
    from: "where i.key is not null and a.revision = i.expected",
    to: "where i.key is not null",
    suites: [journal]
  },
  {
    id: "a retry forgets what an earlier try wrote",
    file: writes,
    from: "new Set([...before, ...(yield* attempt(rest))])",
    to: "yield* attempt(rest)",
    suites: [journal]
  },
  {
    id: "a commit at another revision is written",
    file: statements,
    from: "where a.id = i.id and a.revision = i.expected$",
    to: "where a.id = i.id$",
    suites: [rows, journal]
  },
  {
    id: "a commit whose key is taken is written",
    file: statements,
    from: 'condition: " and (i.key is null or exists (select 1 from keys k where k.target_id = i.id))"',
    to: 'condition: ""',
    suites: [rows]
  },
  {
    id: "a creation whose key is taken is written",
    file: statements,
    from: "where i.key is null or exists (select 1 from keys k where k.target_id = i.id)\n    on conflict",
    to: "on conflict",
    suites: [rows, host]
  },
  {
    id: "a creation that was not written is logged",
    file: statements,
    from: "from input i join inserted u on u.id = i.id",
    to: "from input i left join inserted u on u.id = i.id",
    suites: [rows, host]
  },
  {
    id: "another owner's commit is taken for one whose answer was lost",
    file: statements,
    from: "on t.actor_id = i.id and t.commit_token = i.token",
    to: "on t.actor_id = i.id",
    suites: [journal]
  },
  {
    id: "all commits of a process have one token",
    file: "src/store/Journal.ts",
    from: "tokenPrefix + (++tokens).toString(36)",
    to: "tokenPrefix + tokens.toString(36)",
    suites: [journal]
  },
  {
    id: "a commit is answered while it is being written",
    file: "src/store/Journal.ts",
    from: "Queue.offerUnsafe(commits, { item, token: nextToken(), askedAt: performance.now(), span, done })",
    to: 'Queue.offerUnsafe(commits, { item, token: nextToken(), askedAt: performance.now(), span, done: () => {} }); done("committed")',
    suites: [host, journal]
  },
  {
    id: "an actor becomes what is not committed yet",
    file: "src/engine/ActorCommits.ts",
    from: "this.#around.journal.commit(record, done, span)",
    to: 'this.#around.journal.commit(record, () => {}, span); done("committed")',
    suites: [host]
  },
  {
    id: "a fenced commit is reported as committed",
    file: writes,
    from: 'written.has(job.item.id) ? "committed" : "fenced"',
    to: '"committed"',
    suites: [journal, host]
  },
  {
    id: "a retry does not look for what an earlier try wrote",
    file: writes,
    from: "isRetry = true\n        return tried",
    to: "return tried",
    suites: [journal]
  },
  {
    id: "a refused record takes its batch along",
    file: writes,
    from: "jobs.length > 1\n              ? ",
    to: "jobs.length > 256\n              ? ",
    suites: [journal]
  },
  {
    id: "a callback that throws ends the writer",
    file: "src/store/journalQueue.ts",
    from: "faults.push(Effect.logError(`The callback of the write of ${job.item.id} failed`, defect))",
    to: "throw defect",
    suites: [journal]
  },
  {
    id: "a record that cannot be encoded is never answered",
    file: "src/store/Journal.ts",
    from: 'return done("failed")',
    to: "return",
    suites: [journal]
  },
  {
    id: "pending commands that did not change are lost",
    file: statements,
    from: "coalesce(i.pending::jsonb, a.pending)",
    to: "coalesce(i.pending::jsonb, '[]')",
    suites: [rows]
  },
  {
    id: "deadlines that did not change are lost",
    file: statements,
    from: "coalesce(i.deadlines::jsonb, a.deadlines)",
    to: "coalesce(i.deadlines::jsonb, '{}')",
    suites: [rows]
  },
  {
    id: "an actor without a deadline stays due",
    file: statements,
    from: "due_at = i.due_at$",
    to: "due_at = coalesce(i.due_at, a.due_at)$",
    suites: [rows]
  },
  {
    id: "an actor with a pending command and no deadline is never woken",
    file: "src/store/journalReads.ts",
    from: "(case when pending <> '[]'::jsonb then 0 else due_at end) <= $1",
    to: "due_at <= $1",
    suites: [host]
  },
  {
    id: "a tidy-up is never written",
    file: "src/store/JournalEncoding.ts",
    from: "BigInt(transition === null ? commit.revision : commit.revision - 1)",
    to: "BigInt(commit.revision - 1)",
    suites: [rows, journal]
  },
  {
    id: "columns for lists and retention keep their first values",
    file: "src/store/JournalEncoding.ts",
    from: "!areSameColumns(columns, before)",
    to: "false",
    suites: ["test/service/store/Actors.test.ts", "test/system/store/DerivedColumns.test.ts"]
  },
  {
    id: "a migrated snapshot keeps the version of before",
    file: statements,
    from: 'sets: ", machine_version = coalesce(i.machine_version, a.machine_version)"',
    to: 'sets: ""',
    suites: ["test/service/engine/versions.test.ts"]
  },
  {
    id: "a snapshot that is read has no instant",
    file: "src/store/journalReads.ts",
    from: "Number(raw.changed_at ?? 0n)",
    to: "0",
    suites: ["test/service/engine/instants.test.ts"]
  }
]
