/** The one line of time below a Sandbox's statechart, and its whole log in the hand, in a real Chromium. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { leastMs } from "../../../../src/console/pages/sandbox/timeline/zoom.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { longLife } from "../../../support/console/pages/longLife.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, tooWide } from "../../../support/console/pages/visits.ts"
import { Work } from "../../../support/console/pages/Work.ts"
import { hang } from "../../../support/http/commands.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"

const lane = (page: Page, name: string) => page.getByRole("listbox", { name: `${name}, transitions` })

const rangeOf = (page: Page): Promise<readonly [from: number, to: number]> =>
  page.locator(".tl-range").evaluate((shown) => {
    const { from, to } = (shown as unknown as { dataset: { from: string; to: string } }).dataset
    return [Number(from), Number(to)] as const
  })

const atRevision = (page: Page, revision: number, of: number) =>
  page.locator(`[data-revision="${revision}"][data-newest="${of}"]`).waitFor()

/** A key, and what stands below the lanes then. */
const press = async (page: Page, key: string): Promise<string> => {
  await page.keyboard.press(key)
  return (await page.locator(".tl-about").textContent())!
}

const asker = (api: TestApi["Service"], id: string) => (method: string, call: string, body?: object) =>
  api.send(method, `/api/v2/sandboxes/${id}${call}`, {
    ...(body === undefined ? {} : { body }),
    headers: { "idempotency-key": randomUUID() }
  })

layer(TestApi.layer({ ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }), {
  excludeTestServices: true
})("a Sandbox's timeline in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "shows what lived in it before the page was opened and since, by pointer and by keyboard",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const send = asker(api, id)
        const start = async (...argv: ReadonlyArray<string>): Promise<string> => {
          const { operation } = (await send("POST", "/operations", { argv })).json
          return operation.id
        }
        const hung = await start(...hang)
        const failed = await start(...hang)
        await send("POST", "/services", { requested_at: new Date().toISOString(), ports: [80] })
        const { preview } = (await send("POST", "/previews", { port: 3000 })).json
        await send("DELETE", `/previews/${preview.id}`)
        const streams: Array<string> = []
        page.on("request", (request) => {
          if (request.url().includes("/events")) streams.push(request.url())
        })
        await page.goto(`/console/sandboxes/${id}`)
        await lane(page, "Service accesses").waitFor()
        assert.strictEqual(await page.getByRole("listbox").count(), 4, "no grant yet")
        const { stored } = (await send("GET", "/transitions")).json
        await atRevision(page, stored.revision, stored.revision)

        // Since.
        await send("POST", "/cooperative-connection", { publicKeys: [publicKey] })
        await lane(page, "Connection grants").waitFor()
        assert.lengthOf(streams, 1, "one stream for all that is live on the page")
        await send("POST", `/operations/${failed}/cancel`)
        const operations = lane(page, "Operations")
        await operations.focus()
        await untilFound(async () => (await press(page, "End")).includes("TREE_SETTLED"))
        const { transitions } = (await send("GET", `/operations/${failed}/transitions`)).json
        for (const { revision, event, from, to, cause, requestId } of transitions.toReversed()) {
          const shown = (await page.locator(".tl-about").textContent())!
          for (const text of [
            failed,
            `revision ${revision}`,
            event.type,
            `${from ?? ""}`,
            to,
            cause,
            requestId ?? "no request"
          ]) {
            assert.include(shown, text)
          }
          const said = (await operations.getByRole("option").textContent())!
          assert.include(said, `${event.type}, ${from === null ? "" : `${from} `}→ ${to}`)
          // Back to the same operation's transition before: the other one's may lie between.
          for (let before = shown; revision > 1 && (before === shown || !before.includes(failed)); ) {
            before = await press(page, "ArrowLeft")
          }
        }
        await press(page, "Home")
        await page.locator(".tl-about").getByText(hung).waitFor()
        await page.keyboard.press("Enter")
        await page.waitForURL(`**/sandboxes/${id}/operations/${hung}`)
        await page.goBack()

        // A transition of the Sandbox takes the scrubber along.
        const own = lane(page, "Sandbox")
        await own.focus()
        await press(page, "Home")
        await page.keyboard.press("Enter")
        await atRevision(page, 1, stored.revision)
        const { x, y, width, height } = (await own.boundingBox())!
        await page.mouse.click(x + width - 3, y + height / 2)
        await atRevision(page, stored.revision, stored.revision)

        // A part of it, and all of it again.
        const [from, to] = await rangeOf(page)
        assert.approximately((await own.boundingBox())!.y, y, 2, "the lane stays under the pointer")
        await page.mouse.move(x + width * 0.4, y + height / 2)
        await page.mouse.down()
        await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 4 })
        await page.locator(".tl-brush").waitFor()
        await page.mouse.up()
        const part = await rangeOf(page)
        assert.isTrue(part[0] > from && part[1] < to, `${part} is within ${[from, to]}`)
        await own.focus()
        await page.keyboard.press("+")
        const closer = await rangeOf(page)
        // What lies in the middle may have happened within two milliseconds: no range is shorter than one.
        const length = closer[1] - closer[0]
        assert.isTrue(
          Math.abs(length - leastMs) < 0.001 ||
            (closer[0] >= part[0] && closer[1] <= part[1] && length < part[1] - part[0]),
          `${closer} is within ${part}`
        )
        await page.keyboard.press("-")
        await page.getByRole("button", { name: "Whole life" }).click()
        assert.strictEqual((await rangeOf(page))[0], from)

        // What is asked for, and the same as a table.
        await page.getByLabel("Filter by state").selectOption("open")
        await page.getByText("Operations 1", { exact: true }).waitFor()
        await page.getByLabel("Filter by state").selectOption("all")
        await page.getByRole("button", { name: "Previews" }).click()
        await lane(page, "Previews").waitFor({ state: "detached" })
        await page.getByRole("button", { name: "Previews" }).click()
        await page.getByText("The same as a table").click()
        await page.getByRole("row").filter({ hasText: failed }).getByRole("link").first().click()
        await page.waitForURL(`**/sandboxes/${id}/operations/${failed}`)
        await page.goBack()

        const found: Array<string> = []
        await lane(page, "Operations").waitFor()
        await page.getByText("The same as a table").click()
        for (const width of [1400, 360]) {
          await page.setViewportSize({ width, height: 800 })
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme })
            found.push(...(await violations(page)).map((text) => `${width}, ${colorScheme}: ${text}`))
          }
          assert.isAtMost(await tooWide(page), 0, `${width} px`)
        }
        assert.deepStrictEqual(found, [])
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "draws 10,000 transitions and 3,000 operations with few elements, with idle time compressed and said",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const api = yield* TestApi
        const like = yield* Effect.promise(async () => api.newSandbox(await api.newWorkspace()))
        const { id } = yield* longLife(like, 10_000)
        const [made] = yield* sql<{ readonly account_id: string; readonly created_at: bigint }>`
          select account_id, created_at from actors where id = ${id}`
        // In the first part of its life, many at once.
        const ids = sql`'op_' || md5(n::text)`
        const begun = sql`(${made!.created_at}::int8 + (n % 50) * 400)`
        yield* sql`
          insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
          select ${ids}, 'operation', ${made!.account_id}, ${id}, 1, 3, '{}'::jsonb, '{"value": "completed", "context": {}}'::jsonb, ${begun}
          from generate_series(1, 3000) n`
        yield* sql`
          insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
          select ${ids}, r, ${begun} + r * 1000, jsonb_build_object('type', (array['CREATED', 'STARTED', 'EXITED'])[r]),
            (array[null, 'queued', 'running'])[r], (array['queued', 'running', 'completed'])[r], '[]'::jsonb, 'client', ''
          from generate_series(1, 3000) n, generate_series(1, 3) r`
        yield* asOwner(async ({ page }) => {
          await page.goto(`/console/sandboxes/${id}`)
          // Of the next one, the first pages have only some steps: it would look as if it ran.
          await page.getByText("Operations 1,666", { exact: true }).waitFor()
          await page.getByRole("button", { name: "Load older" }).click()
          await page.getByText("Operations 3,000", { exact: true }).waitFor()
          await page.getByRole("button", { name: "Load older" }).waitFor({ state: "detached" })
          await atRevision(page, 10_000, 10_000)
          assert.isBelow(await page.locator(".timeline *").count(), 700)
          const gaps = await page
            .locator(".tl-gap")
            .evaluateAll((shown) =>
              shown.map((one) => Number((one as unknown as { dataset: { ms: string } }).dataset.ms))
            )
          assert.isNotEmpty(gaps)
          assert.isAbove(Math.min(...gaps), 60_000)
          await page.getByText(/stretch(?:es)? .*without events/).waitFor()
          // A crowd becomes larger until it is none.
          const crowd = (await page.locator(".tl-crowd").first().boundingBox())!
          const [from, to] = await rangeOf(page)
          await page.mouse.move(crowd.x + crowd.width / 2, crowd.y + 5)
          await page.getByText("operations more at the same time").waitFor()
          await page.mouse.click(crowd.x + crowd.width / 2, crowd.y + 5)
          const closer = await rangeOf(page)
          assert.isBelow(closer[1] - closer[0], to - from)
        })
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "lets 10,000 transitions be scrubbed through without 50 ms of work for any frame",
    () =>
      Effect.gen(function* () {
        const api = yield* TestApi
        const like = yield* Effect.promise(async () => api.newSandbox(await api.newWorkspace()))
        const { id, states } = yield* longLife(like, 10_000)
        yield* asOwner(async ({ page }) => {
          await page.goto(`/console/sandboxes/${id}`)
          await page.getByText("equals what the service stores at revision 10000").waitFor()
          await page.getByText("What happened when").waitFor()
          const work = await Work.of(page)
          const slider = page.getByRole("slider", { name: "Revision" })
          const parts = 4
          const keys = ["Home", ...Array<string>(4).fill("ArrowRight"), "PageUp", "ArrowLeft"]
          for (let part = 0; part < parts; part++) {
            await work.assertShort(`by the keyboard, part ${part}`, async (step) => {
              await slider.fill(String(1 + (part * 10_000) / parts))
              await slider.focus()
              for (const key of part === 0 ? keys : [...keys.slice(1), "PageUp"])
                await step(() => page.keyboard.press(key))
              if (part === parts - 1) await step(() => page.keyboard.press("End"))
            })
          }
          const { x, y, width, height } = (await slider.boundingBox())!
          const along = (part: number) => page.mouse.move(x + 8 + (width - 16) * part, y + height / 2)
          for (let part = 0; part < parts; part++) {
            await work.assertShort(`by dragging, part ${part}`, async (step) => {
              await along(part / parts)
              await step(() => page.mouse.down())
              for (let at = 1; at <= 10; at++) await step(() => along((part + at / 10) / parts))
              await step(() => along(part / parts))
              await page.mouse.up()
            })
          }
          await page.keyboard.press("End")
          await atRevision(page, 10_000, 10_000)
          for (const revision of [1, 4321, 9999]) {
            await slider.fill(String(revision))
            await atRevision(page, revision, 10_000)
            assert.strictEqual(await page.locator(".state.current").getAttribute("data-state"), states[revision - 1])
          }
        })
      })
  )
})
