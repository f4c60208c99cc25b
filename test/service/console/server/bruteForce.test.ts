/** Guessing: bounded over all processes together, told nothing by the time that it takes, and no burden to anybody else. */
import { argon2Sync } from "node:crypto"
import { readFile } from "node:fs/promises"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Attempts, addressSubject } from "../../../../src/console/server/Attempts.ts"
import { Passphrases } from "../../../../src/console/server/Passphrases.ts"
import { Browser, passphrase, registered } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const signIn = (port: number, email: string, given: string) =>
  Effect.promise(() => new Browser(port).console("POST", "/sign-in", { email, passphrase: given }))

/** How many there are of each. */
const counted = (statuses: ReadonlyArray<number>) =>
  Object.fromEntries([...new Set(statuses)].map((one) => [one, statuses.filter((status) => status === one).length]))

layer(TestApi.layer(), { excludeTestServices: true })("guessing a passphrase", (it) => {
  const forgotten = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from attempts`)

  it.effect(
    "is refused after ten tries, however many processes are asked at once; the right one too, until it may again",
    () =>
      Effect.gen(function* () {
        const { port, second } = yield* TestApi
        const sql = yield* SqlClient.SqlClient
        const { person } = yield* registered(port)
        const { person: other } = yield* registered(port)
        const guesses = yield* Effect.forEach(
          Array.from({ length: 24 }, (_, at) => at),
          (at) =>
            signIn(
              at % 2 === 0 ? port : second.port,
              at % 3 === 0 ? person.email.toUpperCase() : person.email,
              `${at}`
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(counted(guesses.map(({ status }) => status)), { 401: 10, 429: 14 })
        const refused = yield* signIn(second.port, person.email, person.passphrase)
        assert.deepStrictEqual([refused.status, refused.json.code], [429, "RATE_LIMITED"])
        assert.isAtMost(Number(refused.headers["retry-after"]), 60)
        assert.isAtLeast(Number(refused.headers["retry-after"]), 1)
        assert.strictEqual((yield* signIn(port, other.email, other.passphrase)).status, 200)
        // A minute later, by the database's clock.
        yield* sql`update attempts set paid_until = paid_until - 60000 where subject like 'email %'`
        assert.strictEqual((yield* signIn(port, person.email, person.passphrase)).status, 200)
        const again = yield* Effect.forEach(Array.from({ length: 11 }), () => signIn(second.port, person.email, "x"))
        assert.deepStrictEqual(counted(again.map(({ status }) => status)), { 401: 10, 429: 1 })
      })
  )

  it.effect("keeps nobody out who signs in from an address that has done so before, whatever comes from others", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      yield* forgotten
      const { person, accountId } = yield* registered(port)
      yield* forgotten
      // What sixty addresses and more have tried: all that strangers may.
      yield* signIn(port, person.email, "wrong")
      const [pair] = yield* sql<{
        readonly subject: string
      }>`select subject from attempts where subject like 'email % from %'`
      const strangers = pair!.subject.split(" from ")[0]!
      yield* sql`
        insert into attempts values (${strangers}, (extract(epoch from clock_timestamp()) * 1000)::int8 + 61 * 20000)
        on conflict (subject) do update set paid_until = excluded.paid_until`
      assert.strictEqual((yield* signIn(port, person.email, person.passphrase)).status, 200)
      // The same from an address that never signed in.
      yield* sql`update sessions set source_ip = '192.0.2.1' where account_id = ${accountId}`
      const refused = yield* signIn(port, person.email, person.passphrase)
      assert.deepStrictEqual([refused.status, refused.json.code], [429, "RATE_LIMITED"])
    })
  )

  it.effect("is refused to an address after sixty tries of whatever kind, and no e-mail pays for those", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const { person } = yield* registered(port)
      yield* forgotten
      const tries = yield* Effect.forEach(
        Array.from({ length: 75 }, (_, at) => at),
        (at) =>
          at % 3 === 0
            ? signIn(port, `${at}@example.org`, "x")
            : Effect.promise(() =>
                new Browser(second.port).console("POST", at % 3 === 1 ? "/sign-in-link" : "/invitation", { code: "x" })
              ),
        { concurrency: 8 }
      )
      const limited = tries.filter(({ status }) => status === 429).length
      // One more for each two seconds that it took.
      assert.isAtMost(limited, 15)
      assert.isAtLeast(limited, 10)
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from attempts where subject like 'address %'`)
      assert.strictEqual((yield* signIn(port, person.email, person.passphrase)).status, 200)
    })
  )

  it.effect("takes as long for an e-mail that nobody has, and is answered the same", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { person } = yield* registered(port)
      const timed = Effect.fnUntraced(function* (email: string) {
        const since = performance.now()
        const answer = yield* signIn(port, email, "not the passphrase")
        return { ms: performance.now() - since, answer }
      })
      const median = (values: ReadonlyArray<number>) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
      const known: Array<number> = []
      const unknown: Array<number> = []
      for (let round = 0; round < 9; round++) {
        if (round % 8 === 0) yield* forgotten
        const one = yield* timed(person.email)
        const other = yield* timed("nobody@example.org")
        known.push(one.ms)
        unknown.push(other.ms)
        assert.deepStrictEqual([one.answer.status, other.answer.status], [401, 401])
        const { requestId: _, ...body } = one.answer.json
        const { requestId: __, ...otherBody } = other.answer.json
        assert.deepStrictEqual(otherBody, body)
      }
      const ratio = median(unknown) / median(known)
      assert.isTrue(ratio > 0.5 && ratio < 2, `${median(known)} ms and ${median(unknown)} ms`)
    })
  )

  it.effect("stands in the account's audit log with its address, and the passphrase does not", () =>
    Effect.gen(function* () {
      const { port, auditWritten, sourceIp } = yield* TestApi
      yield* forgotten
      const { browser, person } = yield* registered(port)
      yield* signIn(port, person.email, "a guess that is wrong")
      yield* signIn(port, person.email, passphrase)
      yield* Effect.promise(auditWritten)
      const { json, text } = yield* Effect.promise(() => browser.ask("GET", "/api/v2/usage/audit?action=signIn"))
      assert.deepStrictEqual(
        json.events.map(({ source, status, sourceIp, path }: Record<string, unknown>) => [
          source,
          status,
          sourceIp,
          path
        ]),
        [
          ["console", 200, sourceIp, "/console/api/sign-in"],
          ["console", 401, sourceIp, "/console/api/sign-in"]
        ]
      )
      assert.notInclude(text, "a guess")
    })
  )
})

layer(Layer.merge(Attempts.layer, Passphrases.layer).pipe(Layer.provideMerge(TestDatabase.layer)), {
  excludeTestServices: true
})("attempts and passphrases", (it) => {
  const rate = { inARow: 3, everyMs: 60_000 }

  it.effect("an attempt is there again after its time, and never more than so many in a row", () =>
    Effect.gen(function* () {
      const { take, forgive } = yield* Attempts
      const sql = yield* SqlClient.SqlClient
      const granted = (wanted: number) =>
        Effect.map(
          Effect.forEach(Array.from({ length: wanted }), () => Effect.exit(take("s", rate)), { concurrency: 4 }),
          (exits) => exits.filter(({ _tag }) => _tag === "Success").length
        )
      const later = (ms: number) => sql`update attempts set paid_until = paid_until - ${BigInt(ms)} where subject = 's'`
      assert.strictEqual(yield* granted(10), 3)
      const refused = yield* Effect.flip(take("s", rate))
      assert.isTrue(refused.details.retryAfterSeconds > 55 && refused.details.retryAfterSeconds <= 60)
      yield* later(60_000)
      assert.strictEqual(yield* granted(5), 1)
      yield* later(120_000)
      assert.strictEqual(yield* granted(5), 2)
      yield* later(1_000_000)
      assert.strictEqual(yield* granted(10), 3)
      yield* forgive("s")
      assert.strictEqual(yield* granted(10), 3)
      assert.isTrue((yield* Effect.exit(take("another", rate)))._tag === "Success")
    })
  )

  it.effect("an attempt of before the clock was set back locks nobody out until the clock is there again", () =>
    Effect.gen(function* () {
      const { take } = yield* Attempts
      const sql = yield* SqlClient.SqlClient
      for (let tries = 0; tries < 3; tries++) yield* take("set back", rate)
      yield* Effect.flip(take("set back", rate))
      yield* sql`update attempts set paid_until = paid_until + 86400000 where subject = 'set back'`
      for (let tries = 0; tries < 3; tries++) yield* take("set back", rate)
      yield* Effect.flip(take("set back", rate))
    })
  )

  it.effect("subjects that have all of it again are forgotten", () =>
    Effect.gen(function* () {
      const { take } = yield* Attempts
      const sql = yield* SqlClient.SqlClient
      yield* sql`insert into attempts select 'old ' || n, n from generate_series(1, 15) n`
      yield* take("new", rate)
      yield* take("new", rate)
      assert.deepStrictEqual(yield* sql`select subject from attempts where subject like 'old %'`, [])
    })
  )

  it.effect("an address of IPv6 counts with all of its network", () =>
    Effect.sync(() => {
      assert.strictEqual(addressSubject("192.0.2.7"), "address 192.0.2.7")
      const network = addressSubject("2001:db8:0:1::7")
      assert.strictEqual(network, "address 2001:db8:0:1::/64")
      assert.strictEqual(addressSubject("2001:0db8:0000:0001:ffff:ffff:ffff:ffff"), network)
      assert.notStrictEqual(addressSubject("2001:db8:0:2::7"), network)
      assert.strictEqual(addressSubject("::1"), "address 0:0:0:0::/64")
      assert.strictEqual(addressSubject("fe80::1%eth0"), "address fe80:0:0:0::/64")
    })
  )

  it.effect(
    "a passphrase matches itself, however its letters are composed, and nothing else; nobody's matches none",
    () =>
      Effect.gen(function* () {
        const { hash, matches } = yield* Passphrases
        const stored = yield* hash("Caf\u00e9 au lait, s'il vous pla\u00eet")
        assert.isTrue(yield* matches("Cafe\u0301 au lait, s'il vous plai\u0302t", stored, false))
        assert.isFalse(yield* matches("Cafe au lait, s'il vous plait", stored, false))
        assert.isFalse(yield* matches("Caf\u00e9 au lait, s'il vous pla\u00eet", null, false))
        assert.notStrictEqual(yield* hash("the same words twice"), yield* hash("the same words twice"))
        // What was stored with other parameters is checked with those.
        const nonce = Buffer.alloc(16, 7)
        const tag = argon2Sync("argon2id", {
          message: "older",
          nonce,
          memory: 64,
          passes: 3,
          parallelism: 2,
          tagLength: 24
        })
        const bare = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "")
        const older = `$argon2id$v=19$m=64,t=3,p=2$${bare(nonce)}$${bare(tag)}`
        assert.isTrue(yield* matches("older", older, false))
        assert.isFalse(yield* matches("newer", older, false))
      })
  )

  it.effect("any number at once keeps only so many waiting, and nobody's files wait for them", () =>
    Effect.gen(function* () {
      const { hash } = yield* Passphrases
      const all = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 60 }), () => Effect.exit(hash("one of very many")), {
          concurrency: "unbounded"
        })
      )
      yield* Effect.yieldNow
      const since = performance.now()
      yield* Effect.promise(() => readFile("package.json"))
      const readMs = performance.now() - since
      const exits = yield* Fiber.join(all)
      const allMs = performance.now() - since
      assert.strictEqual(exits.filter(({ _tag }) => _tag === "Success").length, 34)
      assert.isBelow(readMs, allMs / 3)
    })
  )
})
