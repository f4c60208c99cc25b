/** What the database and the machines hold, for the checks of a run. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { historyKinds } from "../../../../src/ops/histories/kinds.ts"
import type { PendingCommand } from "../../../../src/store/JournalRecord.ts"
import type { Moment } from "../../../invariants/Moment.ts"
import { storedBooks, storedLogs } from "../../wallet/storedBooks.ts"
import type { ModelVolumes } from "./ModelVolumes.ts"
import { peopleLines } from "./storedPeople.ts"

export interface StoredActor {
  readonly id: string
  readonly kind: string
  readonly sandboxId: string
  readonly state: string
  readonly revision: number
  // biome-ignore lint/suspicious/noExplicitAny: kinds differ in their contexts.
  readonly context: any
  readonly pending: ReadonlyArray<PendingCommand>
  readonly argv: ReadonlyArray<string> | null
}

export const storedActors = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<StoredActor>`
    select id, kind, sandbox_id as "sandboxId", status as state, revision::int4 as revision, snapshot -> 'context' as context, pending,
           payload -> 'argv' as argv
    from actors order by created_at, id`
)

/** As the invariants of test/invariants see them. */
export const momentOf = (actors: ReadonlyArray<StoredActor>): Moment => ({
  actors: actors.map(({ id, kind, state, context, pending }) => ({
    id,
    kind,
    state,
    tags: new Set(historyKinds.get(kind)!.machine.states[state]!.tags),
    context,
    commands: pending
  }))
})

const outputs = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly owner_id: string; readonly stream: string; readonly start: number; readonly bytes: string }>`
    select owner_id, stream, start_offset::int4 as start, encode(bytes, 'escape') as bytes
    from output_chunks order by owner_id, stream, start_offset`
)

const workspaces = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly name: string }>`select name from workspaces order by name`
)

/** Without those of builds that were given up: the client that had no answer asked again, for another image. */
const keys = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly kind: string; readonly key: string }>`
    select kind, key from idempotency_keys k
    where kind <> 'sandbox.build' or exists (select from actors a where a.id = k.key) order by key`
)

const wordsOf = ({ kind, state, context, pending, argv }: StoredActor): string => {
  const waits = pending.map(({ type }) => type).sort()
  const facts =
    kind === "sandbox"
      ? {
          name: context.name,
          generation: context.generation,
          metadata: context.metadata,
          lifetime: context.lifetime,
          isCopy: context.snapshotId !== null,
          root: context.image?.reference,
          reason: context.reason?.code
        }
      : kind === "operation"
        ? {
            argv,
            generation: context.generation,
            exitCode: context.exitCode,
            signal: context.signal,
            reason: context.reason?.code,
            tree: context.processTree
          }
        : kind === "snapshot"
          ? {
              name: context.name,
              of: context.sandboxName,
              generation: context.generation,
              expires: context.expiresAt !== null,
              wasReady: context.readyAt !== null,
              reason: context.statusReason?.code
            }
          : kind === "image"
            ? {
                name: context.name,
                reference: context.reference,
                hasPassword: context.credentials !== null,
                wasReady: context.readyAt !== null,
                reason: context.statusReason?.code
              }
            : { port: context.port, generation: context.generation }
  return `${kind} ${state} ${JSON.stringify(facts)} pending ${JSON.stringify(waits)}`
}

/** There is one for each time that it was asked for: a client without an answer asks again. */
const isAskedAgain = ({ kind }: StoredActor): boolean => kind === "connectionGrant"

/** The Sandbox of a build whose service ended before its image was stored: the client's repetition made another one. */
const isGivenUp = ({ kind, state, context, pending }: StoredActor, actors: ReadonlyArray<StoredActor>): boolean =>
  kind === "sandbox" &&
  context.buildsImageId !== null &&
  state === "deleted" &&
  pending.length === 0 &&
  !actors.some(({ id }) => id === context.buildsImageId)

/** What Sandboxes live on. */
export interface Carrier {
  readonly world: SimulatedWorld
  readonly volumes: ModelVolumes
}

type Name = (id: string) => string

const carried = ({ world, volumes }: Carrier, nameOf: Name): ReadonlyArray<string> => [
  ...[...world.machines.values()].map(
    ({ spec, state }) => `machine of ${nameOf(spec.sandboxId)} ${state} in generation ${spec.generation}`
  ),
  ...[...world.volumes].map((id) => `volume of ${nameOf(id)}`),
  ...[...world.origins.keys()].map((id) => `volume of ${nameOf(id)} made of a snapshot`),
  ...[...world.snapshots].map(([id, sandboxId]) => `image ${nameOf(id)} of ${nameOf(sandboxId)}`),
  ...volumes.imageFiles.map(([id, file]) => `file in the image ${nameOf(id)}: ${file}`),
  ...[...world.images].map((digest) => `root ${digest}`),
  ...volumes.files.map(([id, file]) => `file of ${nameOf(id)}: ${file}`)
]

/**
 * All that is there, without ids and times: two runs with the same end are the same here.
 * @param told Ids that clients were told.
 */
export const endOf = (carriers: ReadonlyArray<Carrier>, told: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const stored = yield* storedActors
    const actors = stored.filter((actor) => (!isAskedAgain(actor) || told.has(actor.id)) && !isGivenUp(actor, stored))
    const nameOf = (id: string) => {
      const found = actors.find((actor) => actor.id === id)
      return found?.argv?.join(" ") ?? found?.context.name ?? "unknown"
    }
    const texts = new Map<string, string>()
    for (const { owner_id, stream, start, bytes } of yield* outputs) {
      // An execute that had no answer was done again.
      if (!actors.some(({ id }) => id === owner_id)) continue
      const name = `${nameOf(owner_id)} ${stream}`
      const before = texts.get(name) ?? ""
      texts.set(name, start === before.length ? before + bytes : `${before} (a gap, or twice, at ${start}) ${bytes}`)
    }
    return [
      ...actors.map(wordsOf),
      ...[...texts].map(([name, text]) => `output of ${name}: ${text}`),
      ...(yield* workspaces).map(({ name }) => `workspace ${name}`),
      ...(yield* keys).map(
        ({ kind, key }) =>
          `key ${kind.replace(/:.*/, "")} ${key
            .replace(/snp_\w+/, "of a snapshot")
            .replace(/img_\w+/, "of an image")
            .replace(/^sbx_\w+ [\d.]+$/, "of a Sandbox's checkpoint")
            .replace(/^unnamed .+/, "unnamed")}`
      ),
      ...carriers.flatMap((carrier, place) =>
        carried(carrier, nameOf).map((line) => (place === 0 ? line : `host ${place + 1}: ${line}`))
      ),
      ...(yield* peopleLines(told))
    ].sort()
  })

/** The wallet follows each change of a Sandbox a little later. */
export const unsettledWallets = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly id: string }>`
    select id from actors
    where kind = 'wallet' and ((snapshot -> 'context' ->> 'isReckoning')::bool or (snapshot -> 'context' ->> 'isStale')::bool)`
)

export const auditOf = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly request_id: string; readonly status: number; readonly times: number }>`
    select request_id, min(status) as status, count(*)::int4 as times from audit_events group by request_id, action`
)

/** Such a request is decided: what is left of it is up to the service. */
export const isLogged = (requestId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(
      sql`select 1 from transitions where request_id = ${requestId}
          union all select 1 from audit_events where request_id = ${requestId}`,
      (rows) => rows.length > 0
    )
  )

export const loggedStates = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly actor_id: string; readonly to_state: string }>`select actor_id, to_state from transitions`
)

/** Of each account. */
export const money = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const accounts = yield* sql<{ readonly id: string }>`select id from accounts order by id`
  const all = yield* storedLogs(sql)
  return yield* Effect.forEach(accounts, ({ id }) =>
    Effect.map(storedBooks(sql, id), ({ meters, segments, allocations, ...books }) => {
      const logs = new Map([...all].filter(([, { sandbox }]) => sandbox.accountId === id))
      const isOwn = ({ sandboxId }: { readonly sandboxId: string }) => logs.has(sandboxId)
      const entries = new Set(books.entries.map((entry) => entry.id))
      return {
        books: {
          ...books,
          meters: meters.filter(isOwn),
          segments: segments.filter(isOwn),
          allocations: allocations.filter(({ entryId }) => entries.has(entryId))
        },
        logs
      }
    })
  )
})

const cleared = [
  ...["meters", "segments", "wallets", "grants", "ledger_entries", "allocations", "wallet_nudges"],
  ...["actors", "transitions", "declined_events", "idempotency_keys", "outputs", "output_chunks", "output_totals"],
  ...[
    "executions",
    "sandbox_envs",
    "sandbox_origins",
    "sandbox_rollbacks",
    "build_leases",
    "sandbox_uses",
    "usage_hours",
    "audit_events",
    "api_keys",
    "workspaces",
    "accounts"
  ],
  ...["host_promises", "hosts", "snapshot_copies"],
  ...["held_places", "server_keys", "cluster_shards", "cluster_processes"],
  ...[
    "attempts",
    "invitations",
    "passphrases",
    "sign_in_links",
    "sessions",
    "tickets",
    "operator_links",
    "operator_sessions"
  ]
]

/** In one statement: to truncate would make the server forget each connection's statements. */
export const clear = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.unsafe(
    `with ${cleared.map((table) => `of_${table} as (delete from ${table})`).join(", ")},
          of_rate_cards as (delete from rate_cards where effective_at > 0)
     update heartbeat set at = 0`
  )
)
