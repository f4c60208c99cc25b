/**
 * Cursors and event ids in the wrong place: those of every paged endpoint and of every resumable stream, at every other
 * one, for another account, another Sandbox and other filters; and cut or changed ones in their own place. None is
 * answered with data.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { scopes } from "../../../../schemas/Access.ts"
import { exit } from "../../../support/http/commands.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { anyReference } from "../../../support/image/anyReference.ts"
import { untilFound } from "../../../support/until.ts"

/** The same list with other filters. */
const filters: Readonly<Record<string, ReadonlyArray<string>>> = {
  "/api/v2/sandboxes": ["&status=running,stopped&metadata.a=1&metadata.b=2", "&status=running", "&metadata.a=1"],
  "/api/v2/snapshots": ["&status=ready"],
  "/api/v2/images": ["&name=tools"],
  "/api/v2/usage/audit": ["&action=execute", "&from=2020-01-01T00:00:00Z"]
}

/** Another spelling of the same filters. */
const sameFilters: Readonly<Record<string, string>> = {
  "&status=running,stopped&metadata.a=1&metadata.b=2": "&metadata.b=2&status=stopped&metadata.a=1&status=running"
}

/** Simulated machines have none; other suites test their cursors. */
const files = ["/api/v2/sandboxes/{id}/files/content", "/api/v2/sandboxes/{id}/files/list"]

/** Their ids are offsets that the client may choose. */
const outputs = [
  "/api/v2/sandboxes/{id}/operations/{operationId}/output/stream",
  "/api/v2/images/{id}/build/output/stream"
]

/** A list or a stream as one account requests it. */
interface Place {
  /** Its path in the description. */
  readonly template: string
  /** The content of the list. Two places with the same content take each other's cursors. */
  readonly tells: string
  readonly key: string
  readonly path: string
  readonly filter: string
}

interface Found extends Place {
  readonly cursor: string
}

// biome-ignore lint/suspicious/noExplicitAny: the description
type Described = any

layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "67108864" }), { excludeTestServices: true })("a cursor", (it) => {
  it.effect(
    "is refused everywhere except in the list or stream that gave it, and after any change",
    () =>
      Effect.contextWith((context: Context.Context<TestApi | SqlClient.SqlClient>) =>
        Effect.promise(async () => {
          const api = Context.get(context, TestApi)
          const sql = Context.get(context, SqlClient.SqlClient)
          const opened: Array<EventClient> = []

          const newTenant = async () => {
            const { secret: key } = await api.newKey(scopes, randomUUID())
            const made = async (method: string, path: string, body?: object) => {
              const headers = { "idempotency-key": randomUUID() }
              const answer = await api.send(method, `/api/v2${path}`, { key, headers, ...(body && { body }) })
              assert.oneOf(answer.status, [200, 201, 202], answer.text)
              return answer.json
            }
            const { id: accountId } = (await made("GET", "/me")).account
            const { workspace } = await made("POST", "/workspaces", { name: "cursors" })
            const sandboxes: Array<{
              readonly id: string
              readonly operationIds: ReadonlyArray<string>
              readonly snapshotId: string
              readonly imageId: string
            }> = []
            for (let count = 0; count < 2; count++) {
              const asked = { workspaceId: workspace.id, metadata: { a: "1", b: "2" } }
              const { id } = (await made("POST", "/sandboxes?wait=running", asked)).sandbox
              const operationIds: Array<string> = []
              for (let times = 0; times < 2; times++) {
                const { operation } = await made("POST", `/sandboxes/${id}/operations`, { argv: exit(0) })
                await made("POST", `/sandboxes/${id}/operations/${operation.id}/wait`, { timeoutSeconds: 20 })
                await made("POST", `/sandboxes/${id}/execute`, { argv: ["echo", "line"] })
                operationIds.push(operation.id)
              }
              const snapshotIds: Array<string> = []
              for (let times = 0; times < 2; times++) {
                const { snapshot } = await made("POST", `/sandboxes/${id}/snapshots`)
                const ready = () =>
                  made("GET", `/snapshots/${snapshot.id}`).then((it) => it.snapshot.status === "ready")
                await untilFound(ready)
                await made("POST", "/sandboxes?wait=running", { workspaceId: workspace.id, snapshotId: snapshot.id })
                snapshotIds.push(snapshot.id)
              }
              const imageIds: Array<string> = []
              for (let times = 0; times < 2; times++) {
                const { image } = await made("POST", "/images", { reference: anyReference, name: "tools" })
                await untilFound(() => made("GET", `/images/${image.id}`).then((it) => it.image.status !== "pulling"))
                imageIds.push(image.id)
              }
              sandboxes.push({ id, operationIds, snapshotId: snapshotIds[0]!, imageId: imageIds[0]! })
            }
            await Effect.runPromise(
              Effect.orDie(sql`
                insert into ledger_entries (id, account_id, number, at, posted_at, kind, micro_usd, balance_micro_usd, description)
                select 'txn_' || md5(${accountId}::text || n), ${accountId}, n, 1, 1, 'expiry', -1, -n, 'entry'
                from generate_series(1000, 1002) n`)
            )
            return { key, accountId: accountId as string, sandboxes }
          }
          const tenants = [await newTenant(), await newTenant()]
          await api.auditWritten()

          const { paths } = (await api.send("GET", "/api/v2/openapi.json")).json as Described
          const taking = (parameter: string): ReadonlyArray<string> =>
            Object.entries<Described>(paths).flatMap(([path, { get }]) =>
              get?.parameters?.some(({ name }: Described) => name === parameter) ? [path] : []
            )
          const placesOf = (template: string): ReadonlyArray<Place> =>
            tenants.flatMap(({ key, accountId, sandboxes }) => {
              const all = template.includes("{id}") ? sandboxes : sandboxes.slice(0, 1)
              const concrete = all.flatMap(({ id, operationIds, snapshotId, imageId }) => {
                const of = template.includes("{operationId}") ? operationIds : operationIds.slice(0, 1)
                const ofOthers = template.startsWith("/api/v2/images/") ? imageId : id
                const its = template.startsWith("/api/v2/snapshots/") ? snapshotId : ofOthers
                return of.map((operationId) => template.replace("{id}", its).replace("{operationId}", operationId))
              })
              return concrete.flatMap((path) =>
                ["", ...(filters[template] ?? [])].map((filter) => {
                  // The events of an account have one order, in every stream that shows them.
                  const tells = /\/events$/.test(template) ? `events ${accountId}` : `${accountId} ${path}${filter}`
                  return { template, key, path, filter, tells }
                })
              )
            })

          const ask = ({ key, path, filter }: Place, cursor: string | null) =>
            api.send(
              "GET",
              `${path}?limit=1${filter}${cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
              {
                key
              }
            )
          const open = async ({ key, path }: Place, id: string | null, as: "after" | "last-event-id") => {
            const query = id === null || as !== "after" ? "" : `?after=${encodeURIComponent(id)}`
            const client = new EventClient(api.port, `${path}${query}`, {
              authorization: `Bearer ${key}`,
              ...(id !== null && as === "last-event-id" && { "last-event-id": id })
            })
            opened.push(client)
            await client.until(() => client.status === 200 || client.isOver)
            return client
          }
          const refused = (status: number, text: string, what: string) => {
            assert.oneOf(status, [400, 409], what)
            const { code } = JSON.parse(text)
            assert.strictEqual(code, status === 400 ? "INVALID_REQUEST" : "CURSOR_STALE", what)
          }

          const lists = taking("cursor").filter((path) => !files.includes(path))
          const streams = taking("after")
          assert.isAtLeast(lists.length, 7)
          assert.sameMembers(
            [...streams],
            ["/api/v2/events", "/api/v2/sandboxes/{id}/events", "/api/v2/sandboxes/{id}/logs/stream"]
          )
          assert.sameMembers([...taking("Last-Event-Id")], [...streams, ...outputs])

          const inLists: Array<Found> = []
          for (const place of lists.flatMap(placesOf)) {
            const { status, json } = await ask(place, null)
            assert.strictEqual(status, 200)
            assert.isString(json.nextCursor, `${place.path}${place.filter} has more than one page`)
            inLists.push({ ...place, cursor: json.nextCursor })
          }
          const inStreams: Array<Found> = []
          for (const place of streams.flatMap(placesOf)) {
            const client = await open(place, null, "after")
            await client.until(() => client.lastEventId !== null)
            client.close()
            inStreams.push({ ...place, cursor: client.lastEventId! })
          }

          let tried = 0
          const everywhere = [...inLists, ...inStreams]
          const isFirst = (found: Found) => everywhere.find(({ template }) => template === found.template) === found
          const firsts = new Set(everywhere.filter(isFirst))
          /** All of the same template, and one of each other template. */
          const triedAt = (place: Found) =>
            everywhere.filter((found) => found.template === place.template || (firsts.has(found) && firsts.has(place)))
          for (const place of inLists) {
            for (const { tells, path, filter, cursor } of triedAt(place)) {
              const { status, text } = await ask(place, cursor)
              const what = `the cursor of ${path}${filter} at ${place.path}${place.filter}: ${text}`
              if (tells === place.tells) assert.strictEqual(status, 200, what)
              else refused(status, text, what)
              tried++
            }
            const same = sameFilters[place.filter]
            if (same !== undefined)
              assert.strictEqual((await ask({ ...place, filter: same }, place.cursor)).status, 200)
          }
          for (const place of inStreams) {
            for (const { tells, path, cursor } of triedAt(place)) {
              for (const as of ["after", "last-event-id"] as const) {
                const client = await open(place, cursor, as)
                const what = `the id of ${path} at ${place.path}: ${client.body}`
                if (tells === place.tells) assert.strictEqual(client.status, 200, what)
                else {
                  refused(client.status, client.body, what)
                }
                client.close()
                tried++
              }
            }
          }
          assert.isAbove(tried, 500)

          // Cut anywhere, or changed anywhere.
          const changed = (cursor: string): ReadonlyArray<string> =>
            [...cursor].flatMap((letter, at) => [
              cursor.slice(0, at),
              `${cursor.slice(0, at)}${letter === "1" ? "2" : "1"}${cursor.slice(at + 1)}`,
              `${cursor.slice(0, at)}${cursor.slice(at + 1)}`
            ])
          const one = (all: ReadonlyArray<Found>) => [
            ...new Map(all.map((found) => [found.path.split("/").at(-1), found])).values()
          ]
          for (const place of one(inLists)) {
            for (const cursor of new Set([...changed(place.cursor), `${place.cursor}A`, `${place.cursor}=`])) {
              const { status, text } = await ask(place, cursor)
              refused(status, text, `${cursor} for ${place.cursor} at ${place.path}`)
            }
          }
          for (const place of one(inStreams)) {
            for (const id of new Set([...changed(place.cursor), `${place.cursor}A`])) {
              const client = await open(place, id, "after")
              refused(client.status, client.body, `${id} for ${place.cursor} at ${place.path}`)
              client.close()
            }
          }
          for (const client of opened) client.close()
        })
      ),
    300_000
  )
})
