/** Tickets: a session once, soon, and only while there is the session. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Sessions } from "../../../../src/console/server/Sessions.ts"
import { Tickets } from "../../../../src/console/server/Tickets.ts"
import { registered } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { testSettings } from "../../../support/TestSettings.ts"

/** A process of its own. */
const tickets = () =>
  Layer.fresh(Tickets.layer).pipe(Layer.provide(Layer.fresh(Sessions.layer)), Layer.provide(testSettings()))

const redeemed = (ticket: string) =>
  Effect.flatMap(Tickets, ({ redeem }) => Effect.exit(redeem(ticket))).pipe(Effect.provide(tickets()))

layer(TestApi.layer(), { excludeTestServices: true })("a ticket", (it) => {
  it.effect("is redeemed once, by its session, also concurrently", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser, accountId, session } = yield* registered(port)
      const made = yield* Effect.promise(() => browser.console("POST", "/tickets"))
      assert.strictEqual(made.status, 201, made.text)
      assert.strictEqual(made.headers["cache-control"], "no-store")
      assert.approximately(Date.parse(made.json.expiresAt), Date.now() + 30_000, 5000)
      const exits = yield* Effect.forEach(Array.from({ length: 6 }), () => redeemed(made.json.ticket), {
        concurrency: "unbounded"
      })
      const found = exits.filter(({ _tag }) => _tag === "Success").map((exit) => "value" in exit && exit.value)
      assert.strictEqual(found.length, 1)
      assert.deepInclude(found[0], { source: "console", accountId, sessionId: session.id, apiKeyId: null })
    })
  )

  it.effect("is worth nothing when it is past, when its session is over, and to who has only the cookie", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { browser } = yield* registered(port)
      const newTicket = Effect.promise(async () => (await browser.console("POST", "/tickets")).json.ticket as string)
      const past = yield* newTicket
      yield* sql`update tickets set expires_at = ${BigInt(Date.now())}`
      const ended = yield* newTicket
      const forged = browser.at(port)
      forged.csrf = null
      assert.strictEqual((yield* Effect.promise(() => forged.console("POST", "/tickets"))).status, 403)
      yield* Effect.promise(() => browser.console("POST", "/sign-out", {}))
      for (const ticket of [past, ended, "x", "a".repeat(43)]) {
        assert.strictEqual((yield* redeemed(ticket))._tag, "Failure")
      }
    })
  )
})
