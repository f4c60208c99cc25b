/** A stream is authorised once and lasts for hours: everything that ends it, and that nothing else does. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Accounts } from "../../../../src/account/Accounts.ts"
import { Browser, passphrase, registered } from "../../../support/console/server/Browser.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const watching = (port: number, { cookie, csrf }: Browser, path = "/events") =>
  new EventClient(port, `/api/v2${path}`, { cookie: cookie!, "x-atoll-csrf": csrf! })

const withKey = (port: number, secret: string) =>
  new EventClient(port, "/api/v2/events", { authorization: `Bearer ${secret}` })

const begun = (...clients: ReadonlyArray<EventClient>) =>
  Effect.promise(() => Promise.all(clients.map((client) => client.until(() => client.lastEventId !== null))))

const ended = (...clients: ReadonlyArray<EventClient>) =>
  Effect.promise(() => Promise.all(clients.map((client) => client.until(() => client.isOver))))

const signIn = Effect.fnUntraced(function* (port: number, email: string) {
  const browser = new Browser(port)
  yield* Effect.promise(() => browser.console("POST", "/sign-in", { email, passphrase }))
  return browser
})

layer(TestApi.layer(), { excludeTestServices: true })("an event stream ends", (it) => {
  it.effect("with its session, in whichever way and process the session ends; streams of other sessions go on", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const { browser: stranger } = yield* registered(port)
      const bystander = watching(port, stranger)
      yield* begun(bystander)
      const { person } = yield* registered(port)
      const ways: Readonly<Record<string, (own: Browser, other: Browser) => Promise<{ readonly status: number }>>> = {
        "signed out": (own) => own.console("POST", "/sign-out", {}),
        "ended from another": async (own, other) => {
          const { id } = (await own.console("GET", "/session")).json.session
          return other.console("DELETE", `/sessions/${id}`)
        },
        "signed out everywhere": (_own, other) => other.console("POST", "/sign-out", { everywhere: true }),
        "given a new passphrase": (_own, other) =>
          other.console("POST", "/passphrase", { old: passphrase, new: passphrase })
      }
      for (const [way, end] of Object.entries(ways)) {
        const own = yield* signIn(port, person.email)
        const other = (yield* signIn(second.port, person.email)).at(second.port)
        const here = watching(port, own)
        const there = watching(second.port, own)
        yield* begun(here, there)
        const { status } = yield* Effect.promise(() => end(own, other))
        assert.include([200, 204], status, way)
        yield* ended(here, there)
        const again = watching(port, own)
        yield* ended(again)
        assert.strictEqual(again.status, 401, way)
      }
      assert.isFalse(bystander.isOver)
      bystander.close()
    })
  )

  it.effect("with the suspension of its account, by key and by session", () =>
    Effect.gen(function* () {
      const { port, second, newKey } = yield* TestApi
      const { browser, person, accountId } = yield* registered(port)
      const { secret } = yield* Effect.promise(() => newKey(["sandbox:read"], person.accountName))
      const clients = [watching(port, browser), watching(second.port, browser), withKey(port, secret)]
      yield* begun(...clients)
      yield* Effect.flatMap(Accounts, (accounts) => accounts.suspend(accountId)).pipe(Effect.provide(Accounts.layer))
      yield* ended(...clients)
      const again = [watching(port, browser), withKey(second.port, secret)]
      yield* ended(...again)
      assert.deepStrictEqual(
        again.map(({ status }) => status),
        [403, 403]
      )
    })
  )

  it.effect("when its key expires", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser } = yield* registered(port)
      const expiresAt = new Date(Date.now() + 3000).toISOString()
      const { json } = yield* Effect.promise(() =>
        browser.console("POST", "/keys", { scopes: ["sandbox:read"], expiresAt })
      )
      const client = withKey(port, json.secret)
      yield* begun(client)
      yield* ended(client)
      assert.isAtLeast(Date.now(), Date.parse(expiresAt))
      const again = withKey(port, json.secret)
      yield* ended(again)
      assert.strictEqual(again.status, 401)
    })
  )
})
