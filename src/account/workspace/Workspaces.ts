/**
 * The workspaces of an account.
 *
 * @source contract.md "Workspaces"
 */

import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import {
  type IdempotencyConflict,
  NotFound,
  WorkspaceNotEmpty,
  WorkspaceQuotaExceeded
} from "../../../schemas/Errors.ts"
import type { CreateWorkspaceRequest, RenameWorkspaceRequest, Workspace } from "../../../schemas/Workspace.ts"
import { Settings } from "../../Config.ts"
import { lockByKey } from "../../platform/concurrency/lockByKey.ts"
import { newId } from "../../platform/identifier/newId.ts"
import { snapshotBytes } from "../../sandbox/sandboxQuota.ts"
import { countedStates } from "../../sandbox/sandboxStates.ts"
import { changeBegins } from "../../store/Change.ts"
import { Int8, textColumn } from "../../store/Columns.ts"
import { volumeBytesOf } from "../../store/SnapshotFields.ts"
import { accountLimits, LimitsRow, ownLimitsOf } from "../AccountLimits.ts"
import { once } from "../idempotency/Idempotency.ts"

/** Minimum time for which a key answers replays. @source contract-details.md "Idempotency" */
const keysKeptMs = 24 * 60 * 60 * 1000

/** Workspaces of one account; `id` null: all. */
const Asked = Schema.Struct({ accountId: Schema.String, id: Schema.NullOr(Schema.String) })

const Inserted = Schema.Struct({ id: Schema.String, name: Schema.String, created_at: Int8 })

const Row = Schema.Struct({
  ...Inserted.fields,
  ...LimitsRow.fields,
  sandbox_count: Schema.Int,
  storage_bytes: Int8
})

export class Workspaces extends Context.Service<
  Workspaces,
  {
    /** `fingerprint` is the SHA-256 of method, path and canonical JSON body. */
    readonly create: (options: {
      readonly accountId: string
      readonly idempotencyKey: string
      readonly fingerprint: string
      readonly request: CreateWorkspaceRequest
    }) => Effect.Effect<Workspace, IdempotencyConflict | WorkspaceQuotaExceeded>
    /** Newest first. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<Workspace>>
    readonly get: (accountId: string, id: string) => Effect.Effect<Workspace, NotFound>
    readonly rename: (
      accountId: string,
      id: string,
      request: RenameWorkspaceRequest
    ) => Effect.Effect<Workspace, NotFound>
    /** Only a workspace without Sandboxes that count toward the limits. */
    readonly remove: (accountId: string, id: string) => Effect.Effect<void, NotFound | WorkspaceNotEmpty>
  }
>()("atoll/account/workspace/Workspaces") {
  static readonly layer = Layer.effect(
    Workspaces,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const settings = yield* Settings
      const withAccountLock = yield* lockByKey

      const workspaceOf = (row: typeof Row.Type): Workspace => ({
        id: row.id,
        name: row.name,
        createdAt: new Date(row.created_at).toISOString(),
        sandboxCount: row.sandbox_count,
        storageBytes: row.storage_bytes,
        storageLimitBytes: accountLimits(ownLimitsOf(row), settings).workspaceStorageBytes
      })

      const lockAccount = SqlSchema.findOne({
        Request: Schema.String,
        Result: LimitsRow,
        execute: (accountId) => sql`
          select sandboxes_limit, workspaces_limit, workspace_storage_bytes_limit from accounts where id = ${accountId} for update`
      })

      const countOf = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ count: Schema.Int }),
        execute: (accountId) => sql`select count(*)::int4 as count from workspaces where account_id = ${accountId}`
      })

      const insertRow = SqlSchema.findOne({
        Request: Schema.Struct({ ...Inserted.fields, accountId: Schema.String }),
        Result: Inserted,
        execute: ({ id, accountId, name, created_at }) => sql`
          insert into workspaces (id, account_id, name, created_at) values (${id}, ${accountId}, ${name}, ${created_at})
          returning id, name, created_at`
      })

      const find = SqlSchema.findAll({
        Request: Asked,
        Result: Row,
        execute: ({ accountId, id }) => sql`
          select w.id, w.name, w.created_at, a.sandboxes_limit, a.workspaces_limit, a.workspace_storage_bytes_limit,
                 count(s.id)::int4 as sandbox_count,
                 coalesce(sum(${sql.literal(volumeBytesOf("s"))}), 0)::int8
                   + ${snapshotBytes(sql, sql.literal("w.account_id"), sql.literal("w.id"))} as storage_bytes
          from workspaces w
          join accounts a on a.id = w.account_id
          left join actors s on s.account_id = w.account_id and s.kind = 'sandbox' and s.workspace_id = w.id
                            and s.sandbox_status = any(${textColumn(countedStates)}::text[])
          where w.account_id = ${accountId} and (${id}::text is null or w.id = ${id})
          group by w.id, a.id
          order by w.id desc`
      })

      /** The account's row is the lock: it serializes creates of one account in all processes. */
      const insert = Effect.fnUntraced(
        function* (accountId: string, name: string) {
          const created_at = yield* Clock.currentTimeMillis
          const account = yield* lockAccount(accountId)
          const { workspaces } = accountLimits(ownLimitsOf(account), settings)
          const { count } = yield* countOf(accountId)
          if (count >= workspaces) return yield* new WorkspaceQuotaExceeded({ details: { limit: workspaces } })
          const row = yield* insertRow({ id: newId("wsp_"), accountId, name, created_at })
          return workspaceOf({ ...row, ...account, sandbox_count: 0, storage_bytes: 0 })
        },
        Effect.catchTag(["SqlError", "SchemaError", "NoSuchElementError"], Effect.die)
      )

      const create = Effect.fn("Workspaces.create")(function* (options: {
        readonly accountId: string
        readonly idempotencyKey: string
        readonly fingerprint: string
        readonly request: CreateWorkspaceRequest
      }) {
        return yield* once({
          accountId: options.accountId,
          kind: "workspace",
          key: options.idempotencyKey,
          fingerprint: options.fingerprint,
          make: Effect.map(insert(options.accountId, options.request.name), (workspace) => ({
            targetId: workspace.id,
            response: workspace
          }))
        }).pipe(withAccountLock(options.accountId), Effect.provideService(SqlClient.SqlClient, sql))
      })

      const list = Effect.fn("Workspaces.list")(function* (accountId: string) {
        const rows = yield* find({ accountId, id: null })
        return rows.map(workspaceOf)
      }, Effect.orDie)

      const get = Effect.fn("Workspaces.get")(function* (accountId: string, id: string) {
        const [row] = yield* Effect.orDie(find({ accountId, id }))
        return row === undefined ? yield* new NotFound() : workspaceOf(row)
      })

      const rename = Effect.fn("Workspaces.rename")(function* (
        accountId: string,
        id: string,
        { name }: RenameWorkspaceRequest
      ) {
        yield* get(accountId, id)
        yield* changeBegins
        yield* Effect.orDie(sql`update workspaces set name = ${name} where id = ${id} and account_id = ${accountId}`)
        return yield* get(accountId, id)
      })

      /** Creates of Sandboxes take the same lock before they look for their workspace, so none is created in a workspace under deletion. */
      const remove = Effect.fn("Workspaces.remove")(
        function* (accountId: string, id: string) {
          const now = yield* Clock.currentTimeMillis
          yield* lockAccount(accountId)
          const { sandboxCount } = yield* get(accountId, id)
          if (sandboxCount > 0) return yield* new WorkspaceNotEmpty({ details: { sandboxCount } })
          yield* changeBegins
          yield* sql`delete from workspaces where id = ${id} and account_id = ${accountId}`
          yield* sql`delete from idempotency_keys where target_id = ${id} and created_at < ${BigInt(now - keysKeptMs)}`
        },
        sql.withTransaction,
        (removing, accountId) => withAccountLock(accountId)(removing),
        Effect.catchTag(["SqlError", "SchemaError", "NoSuchElementError"], Effect.die)
      )

      return { create, list, get, rename, remove }
    })
  )
}
