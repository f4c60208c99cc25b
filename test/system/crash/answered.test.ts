/**
 * Every answered call is on record: calls of every kind that the audit log and the usage count, against a real service
 * that is killed again and again with `kill -9`, now and then its Postgres too. Every call that had its answer is in
 * the log exactly once, and every execute is counted.
 * ATOLL_ANSWERED_KILLS=N: so many kills; ATOLL_ANSWERED_SEED: the seed that a run printed.
 */
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { serviceIn } from "../../support/ServiceIn.ts"
import { testFolder } from "../../support/testFolder.ts"
import { untilFound } from "../../support/until.ts"

const kills = Number(process.env["ATOLL_ANSWERED_KILLS"] ?? 4)
const seed = Number(process.env["ATOLL_ANSWERED_SEED"] ?? Date.now() % 1_000_000)
const key = `atoll_live_${"A".repeat(43)}`

/** Deterministic for a seed. */
const randomOf = (start: number) => {
  let state = start
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0
    return state / 2 ** 32
  }
}

interface Answered {
  readonly action: string
  readonly status: number
}

interface AuditPage {
  readonly events: ReadonlyArray<{ readonly requestId: string }>
  readonly nextCursor: string | null
}

describe.skipIf(skipped(unusable))("a service that is killed", () => {
  it.live(
    "has on record every call that it answered: changes, refusals, reads of content, and executes",
    () =>
      Effect.gen(function* () {
        console.log(`seed ${seed}, ${kills} kills`)
        const random = randomOf(seed)
        const dataDir = join(yield* testFolder, "data")
        const services = yield* serviceIn(dataDir, key)
        const answered = new Map<string, Answered>()
        let executes = 0
        let count = 0

        const call = async (port: number, action: string, method: string, path: string, body?: unknown) => {
          const isBytes = body instanceof Uint8Array
          const requestId = `answered-${++count}`
          const response = await fetch(`http://127.0.0.1:${port}/api/v2${path}`, {
            method,
            headers: {
              authorization: `Bearer ${key}`,
              "x-request-id": requestId,
              "idempotency-key": requestId,
              ...(body === undefined
                ? {}
                : { "content-type": isBytes ? "application/octet-stream" : "application/json" })
            },
            ...(body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) })
          })
          const answer = await response.text()
          // Its last byte has arrived: it counts as answered. Without a database the service cannot identify the key.
          if (response.status !== 503) answered.set(requestId, { action, status: response.status })
          if (action === "execute" && response.status === 200) executes++
          return { status: response.status, json: answer === "" ? null : JSON.parse(answer) }
        }

        yield* Effect.promise(async () => {
          let service = await Effect.runPromise(services.start)
          const workspace = (await call(service.port, "createWorkspace", "POST", "/workspaces", { name: "w" })).json
          const created = await call(service.port, "createSandbox", "POST", "/sandboxes?wait=running", {
            workspaceId: workspace.workspace.id,
            networkEnabled: false
          })
          const sandbox = `/sandboxes/${created.json.sandbox.id}`
          const kinds: ReadonlyArray<(port: number) => Promise<unknown>> = [
            (port) => call(port, "execute", "POST", `${sandbox}/execute`, { argv: ["true"] }),
            (port) => call(port, "updateSandbox", "PATCH", sandbox, { metadata: { at: String(count) } }),
            (port) => call(port, "writeFile", "PUT", `${sandbox}/files/content?path=/workspace/f`, Buffer.from("text")),
            (port) => call(port, "deleteWorkspace", "DELETE", `/workspaces/${workspace.workspace.id}`),
            (port) => call(port, "startOperation", "POST", `${sandbox}/operations`, { argv: ["true"] })
          ]
          for (let round = 0; round < kills; round++) {
            let isOver = false
            const clients = Array.from({ length: 4 }, async () => {
              while (!isOver) {
                await kinds[Math.floor(random() * kinds.length)]!(service.port).catch(() => {})
              }
            })
            const before = answered.size
            await sleep(200 + random() * 900)
            // On a slow machine, too, there is something to have on record.
            await untilFound(() => answered.size > before + 20)
            const gone = once(service.child, "exit")
            if (round % 2 === 1) {
              const pid = Number(readFileSync(join(dataDir, "postgres/data/postmaster.pid"), "utf8").split("\n")[0])
              process.kill(pid, "SIGKILL")
              await sleep(random() * 100)
            }
            service.child.kill("SIGKILL")
            await gone
            isOver = true
            await Promise.all(clients)
            service = await Effect.runPromise(services.start)
          }
          // The next process posts soon what it found.
          const recorded = async () => {
            const found = new Map<string, number>()
            for (let cursor: string | null = ""; cursor !== null; ) {
              const page: AuditPage = await fetch(
                `http://127.0.0.1:${service.port}/api/v2/usage/audit?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`,
                { headers: { authorization: `Bearer ${key}` } }
              ).then((response) => response.json() as Promise<AuditPage>)
              for (const { requestId } of page.events) found.set(requestId, (found.get(requestId) ?? 0) + 1)
              cursor = page.nextCursor
            }
            return found
          }
          const missingIn = (found: ReadonlyMap<string, number>) =>
            [...answered]
              .filter(([requestId]) => !found.has(requestId))
              .map(([, { action, status }]) => `${action} ${status}`)
          let found = await recorded()
          for (let tries = 0; tries < 50 && missingIn(found).length > 0; tries++) {
            await sleep(200)
            found = await recorded()
          }
          assert.deepStrictEqual(missingIn(found), [], `seed ${seed}`)
          assert.isEmpty([...found].filter(([, times]) => times !== 1))
          const usage = await fetch(`http://127.0.0.1:${service.port}/api/v2/usage`, {
            headers: { authorization: `Bearer ${key}` }
          }).then((response) => response.json() as Promise<{ readonly usage: { readonly executes: number } }>)
          // An execute that was done and had no answer may be counted too.
          assert.isAtLeast(usage.usage.executes, executes)
          assert.isAbove(answered.size, 20 * kills)
          // Nothing is left of the processes that were killed.
          assert.strictEqual(readdirSync(join(dataDir, "spool")).length, 1)
          console.log(`${answered.size} answers, ${executes} executes, ${kills} kills: all on record`)
          service.child.kill("SIGTERM")
          await once(service.child, "exit")
          assert.deepStrictEqual(readdirSync(join(dataDir, "spool")), [])
        })
      }).pipe(Effect.scoped),
    300_000
  )
})
