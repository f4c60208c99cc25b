/** Somebody who is signed in to a service whose Sandboxes are real, on the page of one that runs. */
import { randomUUID } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Page } from "playwright-core"
import { freshDriver, unusable } from "../../../host/namespace/TestHost.ts"
import type { Answer } from "../../../http/TestApi.ts"
import { ServedAtoll } from "../../../ServedAtoll.ts"
import { TestDatabase } from "../../../TestDatabase.ts"
import { violations } from "../axe.ts"
import { noChromium, testBrowser, type Visit } from "../TestBrowser.ts"
import { clean, signInByLink, tooWide } from "../visits.ts"

/** Null: both can be had. */
export const unvisitable: string | null = noChromium ?? unusable

const small = {
  ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2)
}

export const served = Layer.suspend(() => ServedAtoll.layer(freshDriver(small), small)).pipe(
  Layer.provideMerge(TestDatabase.layer)
)

export interface ServedVisit extends Visit {
  readonly api: ServedAtoll["Service"]
  readonly origin: string
  readonly sandboxId: string
  /** Below the Sandbox, with the service's key. */
  readonly send: (method: string, call: string, body?: unknown) => Promise<Answer>
  /** Runs a shell script in it. */
  readonly shell: (script: string) => Promise<string>
}

export const servedVisit = (
  test: (visit: ServedVisit) => Promise<void>,
  options: { readonly networkEnabled: boolean } = { networkEnabled: false }
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const api = yield* ServedAtoll
      const origin = `http://127.0.0.1:${api.port}`
      const visit = yield* (yield* testBrowser).open(origin, {
        viewport: { width: 1400, height: 900 },
        reducedMotion: "reduce"
      })
      yield* Effect.promise(async () => {
        const sandboxId = await api.newSandbox(api.key, options)
        const send: ServedVisit["send"] = (method, call, body) =>
          api.send(method, `/api/v2/sandboxes/${sandboxId}${call}`, {
            ...(body === undefined ? {} : { body }),
            headers: {
              ...(Buffer.isBuffer(body) ? { "content-type": "application/octet-stream" } : {}),
              ...(method === "POST" ? { "idempotency-key": randomUUID() } : {})
            }
          })
        const shell = async (script: string): Promise<string> => {
          const { json, text } = await send("POST", "/execute", { argv: ["sh", "-c", script] })
          assert.strictEqual(json?.result?.exitCode, 0, text)
          return json.result.stdout
        }
        await signInByLink(visit.page, await api.newLink())
        await test({ ...visit, api, origin, sandboxId, send, shell })
        clean(visit)
      })
    })
  )

/** Neither theme has a fault that axe-core finds, and a narrow screen holds the page. */
export const assertSound = async (page: Page, about: string) => {
  await page.emulateMedia({ colorScheme: "light" })
  assert.deepStrictEqual(await violations(page), [], about)
  // What a theme changes.
  await page.emulateMedia({ colorScheme: "dark" })
  assert.deepStrictEqual(
    await violations(page, { rules: ["color-contrast", "link-in-text-block"] }),
    [],
    `${about}, dark`
  )
  const shown = page.viewportSize()!
  await page.setViewportSize({ width: 360, height: 700 })
  assert.isAtMost(await tooWide(page), 0, `${about} is wider than a narrow screen`)
  await page.setViewportSize(shown)
}
