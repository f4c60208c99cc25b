/** A browser in which the operator has signed in. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { OperatorSessions } from "../../../../src/console/server/OperatorSessions.ts"
import { TestApi } from "../../http/TestApi.ts"
import { Browser } from "./Browser.ts"

export const operatorBrowser = Effect.gen(function* () {
  const { port } = yield* TestApi
  const { code } = yield* (yield* OperatorSessions).createLink
  const browser = new Browser(port)
  yield* Effect.promise(() => browser.console("POST", "/operator/sign-in", { code }))
  const ask = (method: string, path: string, body?: unknown) =>
    Effect.promise(() => browser.console(method, `/operator${path}`, body))
  /** An act that is done. */
  const act = Effect.fnUntraced(function* (path: string, body?: unknown) {
    const answer = yield* ask("POST", path, body)
    assert.strictEqual(answer.status, 200, answer.text)
    assert.strictEqual(answer.headers["cache-control"], "no-store")
    return answer.json as { readonly said: string; readonly link: string | null; readonly secret: string | null }
  })
  /** An act that is refused with this message. */
  const refused = Effect.fnUntraced(function* (path: string, body: unknown, message: string) {
    const answer = yield* ask("POST", path, body)
    assert.deepStrictEqual([answer.status, answer.json.message], [400, message], answer.text)
  })
  return { ask, act, refused, browser, port }
}).pipe(Effect.provide(OperatorSessions.layer))

export const newAccountOf = (name: string) => ({ name, email: null, billing: "prepaid", creditUsd: "12.50" })
