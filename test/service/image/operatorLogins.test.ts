/** The operator's logins for registries: which pulls get them, and that nothing shows them. */
import { randomUUID } from "node:crypto"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { imageTenant } from "../../support/image/ImageTenant.ts"
import { lines, linesWith, rememberAll } from "../../support/serviceLog.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"
import { untilSeen } from "../../support/until.ts"

const reference = "registry.test/private:1"
const images = `private=${reference},open=other.test/tools:1`

const fileOf = (password: string) =>
  JSON.stringify({ auths: { "registry.test": { auth: Buffer.from(`robot:${password}`).toString("base64") } } })

const serviceWith = (path: string) =>
  TestApi.on({ ATOLL_IMAGES: images, ATOLL_IMAGES_CREDENTIALS: path, ATOLL_LOG_LEVEL: "debug" }).pipe(
    Layer.provide(rememberAll)
  )

/** The rows of all tables that have this text. */
const rowsWith = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    select quote_ident(tablename) as name from pg_tables where schemaname = any(current_schemas(false))`
  const found: Array<string> = []
  for (const { name } of tables) {
    const rows = yield* sql`select 1 from ${sql.literal(name)} as it where it::text like ${`%${text}%`}`
    if (rows.length > 0) found.push(name)
  }
  return { tables: tables.length, found }
})

describe.skipIf(isOverAFleet)("the operator's logins for registries", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.effect("are read again at each pull, for the operator's images alone, and nothing shows them", () =>
      Effect.gen(function* () {
        const folder = yield* testFolder
        const path = join(folder, "auth.json")
        const [first, second] = [`first-${randomUUID()}`, `second-${randomUUID()}`]
        yield* Effect.promise(() => writeFile(path, fileOf(first), { mode: 0o600 }))
        yield* Effect.gen(function* () {
          const api = yield* TestApi
          const texts = yield* Effect.promise(async () => {
            const tenant = await imageTenant(api)
            const listed = async () => (await tenant.send("GET", "/images")).json.images
            const own = await untilSeen(listed, (found) =>
              found.every(({ status }: { readonly status: string }) => status === "ready")
            )
            const idOf = (name: string) => own.find((image: { readonly name: string }) => image.name === name).id
            /** What a host gets with a new Sandbox of that image. */
            const given = async (imageId: string) => {
              const { sandbox } = (await tenant.create({ imageId })).json
              await tenant.untilIs("sandboxes", sandbox.id, "running")
              const { credentials } = api.world.machines.get(sandbox.id)!.spec.image!
              return credentials && [credentials.username, Redacted.value(credentials.password)]
            }
            assert.deepStrictEqual(await given(idOf("private")), ["robot", first])
            assert.isNull(await given(idOf("open")))
            await writeFile(path, fileOf(second))
            assert.deepStrictEqual(await given(idOf("private")), ["robot", second])
            // An unusable file is reported, and the last login stays in use.
            await chmod(path, 0o644)
            assert.deepStrictEqual(await given(idOf("private")), ["robot", second])
            assert.lengthOf(await linesWith("is open to other users of this machine. Run: chmod 600"), 1)
            await chmod(path, 0o600)
            await writeFile(path, JSON.stringify({ auths: {} }))
            assert.isNull(await given(idOf("private")))
            await writeFile(path, fileOf(second))

            const without = await tenant.pull({ reference })
            const refused = await tenant.untilIs("images", without.json.image.id, "failed")
            assert.strictEqual(refused.statusReason.code, "IMAGE_UNAUTHORIZED")
            const password = `own-${randomUUID()}`
            const pulled = await tenant.pull({ reference, username: "person", password })
            const { id } = await tenant.untilIs("images", pulled.json.image.id, "ready")
            assert.deepStrictEqual(await given(id), ["person", password])
            await api.auditWritten()
            const paths = ["/images", `/images/${idOf("private")}`, `/images/${idOf("private")}/transitions`, "/audit"]
            return Promise.all(paths.map(async (it) => (await tenant.send("GET", it)).text))
          })
          for (const password of [first, second]) {
            for (const text of [...texts, lines.join("\n")]) assert.notInclude(text, password)
            for (const secret of [password, Buffer.from(`robot:${password}`).toString("base64")]) {
              const { tables, found } = yield* rowsWith(secret)
              assert.isAbove(tables, 10)
              assert.deepStrictEqual(found, [])
            }
          }
        }).pipe(Effect.provide(serviceWith(path)))
      }).pipe(Effect.scoped)
    )

    it.effect("that cannot be used refuse the start with a sentence that says what to do", () =>
      Effect.gen(function* () {
        const path = join(yield* testFolder, "auth.json")
        const refusal = Effect.flip(Effect.scoped(Layer.build(serviceWith(path))))
        const away = yield* refusal
        assert.strictEqual(away._tag, "SettingsUnusable")
        assert.strictEqual(
          away.message,
          `ATOLL_IMAGES_CREDENTIALS, ${path}, does not exist. Correct the path, or unset it.`
        )
        yield* Effect.promise(() => writeFile(path, fileOf("secret"), { mode: 0o644 }))
        yield* Effect.promise(() => chmod(path, 0o644))
        assert.include((yield* refusal).message, `is open to other users of this machine. Run: chmod 600 ${path}`)
      }).pipe(Effect.scoped)
    )
  })
})
