/** The port of actor messages accepts only peers with the key in the database. */
import { randomBytes } from "node:crypto"
import { writeFileSync } from "node:fs"
import { connect as connectPlain } from "node:net"
import { join } from "node:path"
import { connect } from "node:tls"
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { peer } from "../../support/peer/TestPeers.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"

const keyOf = (url: string) =>
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const [row] = yield* sql<{ readonly key: Uint8Array }>`select key from server_keys where name = 'cluster'`
    return row === undefined ? null : Buffer.from(row.key)
  }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))

/** Whether the other end accepts this one as a peer. */
const isLetIn = (port: number, psk: Buffer, identity: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({
      host: "127.0.0.1",
      port,
      ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
      maxVersion: "TLSv1.2",
      pskCallback: () => ({ psk, identity }),
      checkServerIdentity: () => undefined
    })
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once("secureConnect", () => end(true))
    socket.on("error", () => end(false))
    socket.once("close", () => end(false))
  })

/** All bytes that a plain connection gets before it is closed. */
const said = (port: number, text: string) =>
  new Promise<Buffer>((resolve) => {
    const chunks: Array<Buffer> = []
    const socket = connectPlain({ host: "127.0.0.1", port }, () => socket.write(text))
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", () => {})
    socket.once("close", () => resolve(Buffer.concat(chunks)))
  })

it.live(
  "the port of actor messages accepts only peers with the database's key",
  () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const service = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const [only] = await ServiceProcess.cluster(1, { DATABASE_URL: url, ATOLL_RUNTIME: "simulated" })
          await only!.start()
          return only!
        }),
        (service) => Effect.promise(() => service.kill().then(() => service.remove()))
      )
      const key = (yield* keyOf(url))!
      const { clusterPort } = service
      yield* Effect.promise(async () => {
        assert.isTrue(await isLetIn(clusterPort, key, "atoll"))
        assert.isFalse(await isLetIn(clusterPort, randomBytes(32), "atoll"))
        assert.isFalse(await isLetIn(clusterPort, key, "somebody"))
        // An alert of TLS at most: 21, the version, two bytes of length, "fatal", and the reason.
        const answer = await said(clusterPort, `{"_tag":"Ping"}\n${"x".repeat(100)}`)
        assert.isAtMost(answer.length, 7)
        assert.strictEqual((await service.ask("GET", "/me")).status, 200)
      })
    }).pipe(Effect.provide(TestDatabase.bare)),
  60_000
)

it.live(
  "services of a fleet use its secret instead of that key, and reach each other's actors with it",
  () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const secretFile = join(yield* testFolder, "secret")
      writeFileSync(secretFile, randomBytes(32).toString("hex"), { mode: 0o600 })
      const ours = yield* peer({ ATOLL_FLEET_SECRET_FILE: secretFile })
      const [one, two] = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const members = await ServiceProcess.cluster(2, {
            DATABASE_URL: url,
            ATOLL_RUNTIME: "simulated",
            ATOLL_FLEET_SECRET_FILE: secretFile
          })
          for (const member of members) await member.start()
          return members
        }),
        (members) =>
          Effect.promise(async () => {
            for (const member of members) await member.kill()
            members[0]!.remove()
          })
      )
      const { clusterPort } = one!
      const entered = yield* Effect.scoped(
        ours.connect({ host: "127.0.0.1", port: clusterPort }, "atoll-actors/1").pipe(Effect.as(true))
      )
      assert.isTrue(entered)
      const key = yield* keyOf(url)
      yield* Effect.promise(async () => {
        assert.isFalse(key !== null && (await isLetIn(clusterPort, key, "atoll")))
        const { body } = await one!.ask("POST", "/workspaces", { name: "a" }, "workspace")
        // Each Sandbox has its actor in one of the two: so many are not all in one.
        const made = await Promise.all(
          Array.from({ length: 12 }, (_, at) =>
            (at % 2 === 0 ? one! : two!).ask(
              "POST",
              "/sandboxes?wait=running",
              { workspaceId: body.workspace.id, networkEnabled: false },
              `sandbox-${at}`
            )
          )
        )
        for (const { status, body } of made) assert.deepInclude({ status, is: body.sandbox?.status }, { is: "running" })
        const stopped = await Promise.all(
          made.map(({ body }, at) => (at % 2 === 0 ? two! : one!).ask("POST", `/sandboxes/${body.sandbox.id}/stop`))
        )
        for (const { status, body } of stopped) assert.strictEqual(status, 200, JSON.stringify(body))
      })
    }).pipe(Effect.provide(TestDatabase.bare)),
  120_000
)
