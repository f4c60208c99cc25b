/** The operator's page: the audit log over all accounts. */
import { Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { installationCommands, type OperatedAudit } from "../../../schemas/console/OperatedAudit.ts"
import { OperatorApi } from "../../../schemas/console/OperatorApi.ts"
import { Audit } from "../../account/Audit.ts"
import { knownAccount } from "../../console/server/operating/accountActs.ts"
import { type ListBinding, pageOf } from "../../lists/Paging.ts"
import { textColumn } from "../../store/Columns.ts"
import { knownActions } from "./AuditedEndpoint.ts"
import { auditPosition, knownAction, openAuditPosition } from "./AuditQuery.ts"
import { leanGroup } from "./LeanContext.ts"
import { operatorServices, refused, unkept } from "./OperatorActs.ts"

const actions = [...knownActions, ...Object.keys(installationCommands)]

/** The names of these accounts, by id. */
const namesOf = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String, name: Schema.String }),
    execute: () => sql`select id, name from accounts where id = any(${textColumn(ids)}::text[])`
  })
  return new Map((yield* find()).map(({ id, name }) => [id, name]))
}, Effect.orDie)

const group = leanGroup(
  OperatorApi,
  "operatedAudit",
  Effect.fnUntraced(function* (handlers) {
    const services = yield* operatorServices
    const audit = yield* Audit
    return handlers.handle(
      "listAllAuditEvents",
      Effect.fnUntraced(function* ({ query }) {
        const only =
          query.account === undefined
            ? null
            : yield* knownAccount(query.account).pipe(Effect.provideContext(services), Effect.mapError(refused))
        const filter = {
          from: query.from ?? null,
          to: query.to ?? null,
          action: yield* knownAction(query.action ?? null, actions),
          sandboxId: null,
          ...(query.source === undefined ? {} : { source: query.source })
        }
        const list: ListBinding = ["operator", "audit", only?.id ?? null, filter]
        const before = yield* openAuditPosition(list, query.cursor ?? null)
        const found = yield* audit.list(only?.id ?? null, filter, { limit: query.limit + 1, before })
        const { entries, nextCursor } = pageOf(list, found, query.limit, auditPosition)
        const ids = new Set(entries.flatMap(({ accountId }) => accountId ?? []))
        const names = yield* Effect.provideContext(namesOf([...ids]), services)
        const body: OperatedAudit = {
          events: entries.map(({ accountId, sandboxId: _, ...event }) => ({
            ...event,
            at: new Date(event.at).toISOString(),
            account: accountId === null ? null : { id: accountId, name: names.get(accountId) ?? null }
          })),
          nextCursor
        }
        return unkept(body)
      })
    )
  })
)

export const OperatedAuditHandlers = { layer: group }
