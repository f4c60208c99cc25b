/** What people do with the console from end to end, and what must hold on all of its pages. */
import { assert, layer } from "@effect/vitest"
import type { Page } from "playwright-core"
import { violations } from "../../../support/console/pages/axe.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import {
  asNewPerson,
  asOwner,
  atRest,
  createKey,
  createSandbox,
  goTo,
  heading,
  signIn,
  tooWide
} from "../../../support/console/pages/visits.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { sendTo, TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

/** What the browser could keep of a page, and what the page shows. */
const kept = async (page: Page): Promise<string> =>
  (await page.content()) +
  JSON.stringify(
    await page.evaluate(`(async () => ({
      values: [...document.querySelectorAll("input, textarea, select")].map(({ value }) => value),
      local: { ...localStorage },
      session: { ...sessionStorage },
      cookie: document.cookie,
      databases: await indexedDB.databases(),
      caches: await caches.keys(),
      state: history.state,
      name: window.name,
      addresses: [location.href, ...performance.getEntries().map(({ name }) => name)]
    }))()`)
  )

/** Every answer and every request but the endless ones, as text. */
const traffic = (page: Page) => {
  const answers: Array<Promise<string>> = []
  const requests: Array<string> = []
  page.on("request", (request) => {
    requests.push(`${request.url()} ${JSON.stringify(request.headers())} ${request.postData() ?? ""}`)
  })
  page.on("response", (response) => {
    if (response.headers()["content-type"] === "text/event-stream") return
    answers.push(response.text().catch(() => ""))
  })
  return { answers: () => Promise.all(answers), requests }
}

/** The log is written in groups: what was just done appears within a moment. */
const untilAudited = async (page: Page, action: string, key: string) => {
  const row = page.getByRole("row").filter({ hasText: action }).filter({ hasText: key })
  await untilFound(async () => {
    if ((await row.count()) === 1) return true
    await page.getByRole("button", { name: "Refresh: Events" }).click()
    await atRest(page)
    return false
  })
}

/** What a key may be called: nothing that is not seen. */
const hostileKey = `"><script>document.title="owned"</script><img src=x onerror=alert(1)>`
const hostile = `${hostileKey}\u202e`

const tag = "<script>alert(1)</script>"

/** Nothing of a name became a part of the page. */
const assertInert = async (page: Page) => {
  assert.strictEqual(await page.locator("img, iframe, object, script:not([type=module])").count(), 0)
  assert.notInclude(await page.title(), "owned")
}

layer(TestApi.layer(), { excludeTestServices: true })("the console as a whole", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "leads from an invitation to the first command, and to one by a key of one's own",
    () =>
      asNewPerson(async ({ page, origin, email, sourceIp }) => {
        await createSandbox(page, "first", "research")
        await page.getByRole("row").filter({ hasText: "first" }).getByText("running").waitFor()
        await page.getByRole("link", { name: "first" }).click()
        await page.getByRole("link", { name: "Commands" }).click()
        await page.getByLabel("Format").selectOption("exact")
        await page.locator("textarea").first().fill("echo\nthe first command")
        await page.getByRole("button", { name: "Run" }).click()
        await page.getByText("the first command", { exact: true }).waitFor()
        await page.getByText("exit code 0").first().waitFor()
        const secret = await createKey(page, "my laptop")
        const send = sendTo(Number(new URL(origin).port), secret)
        const [sandbox] = (await send("GET", "/api/v2/sandboxes")).json.sandboxes
        assert.strictEqual(sandbox.name, "first")
        const ran = await send("POST", `/api/v2/sandboxes/${sandbox.id}/execute`, { body: { argv: ["echo", "hello"] } })
        assert.deepStrictEqual([ran.status, ran.json.result?.exitCode], [200, 0], ran.text)
        await goTo(page, "Audit")
        await untilAudited(page, "execute", "my laptop")
        await goTo(page, "Keys")
        const key = page.getByRole("row").filter({ hasText: "my laptop" })
        assert.include(await key.textContent(), `from ${sourceIp}`)
        assert.include(await page.locator(".who").textContent(), email)
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "has a key's secret in one answer and one dialog, and nowhere afterwards; so too when it is rotated",
    () =>
      asNewPerson(async ({ page, context }) => {
        const seen = traffic(page)
        const first = await createKey(page, "CI")
        await page.getByRole("button", { name: "Rotate CI" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).click()
        const second = (await page.locator(".secret").textContent())!
        assert.notStrictEqual(second, first)
        assert.include(await kept(page), second)
        // Left without a word: by the browser's own button, which is no button of the dialog.
        await page.goBack()
        await heading(page, "Sandboxes").waitFor()
        await page.goForward()
        await heading(page, "Keys").waitFor()
        await atRest(page)
        const places = [page]
        for (let copy = 0; copy < 2; copy++) {
          const other = await context.newPage()
          await other.goto("/console/keys")
          await heading(other, "Keys").waitFor()
          await atRest(other)
          places.push(other)
        }
        await page.getByText(`… ${second.slice(-4)}`).waitFor()
        for (const place of places) for (const secret of [first, second]) assert.notInclude(await kept(place), secret)
        await page.reload()
        await page.getByText(`… ${second.slice(-4)}`).waitFor()
        await goTo(page, "Audit")
        assert.notInclude(await kept(page), second)
        for (const secret of [first, second]) {
          assert.strictEqual((await seen.answers()).filter((text) => text.includes(secret)).length, 1)
          assert.deepStrictEqual(
            seen.requests.filter((text) => text.includes(secret)),
            []
          )
        }
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "has no fault that axe-core finds where people come in, and where a secret is",
    () =>
      asNewPerson(async ({ page, context }) => {
        const found: Array<string> = []
        const look = async (where: string) => {
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
            found.push(...(await violations(page)).map((text) => `${where}, ${colorScheme}: ${text}`))
          }
        }
        await goTo(page, "Keys")
        await page.getByRole("button", { name: "Create" }).click()
        await page.getByLabel("Name", { exact: true }).fill("CI")
        await page.getByRole("button", { name: "Create the key" }).click()
        await page.locator(".secret").waitFor()
        await look("a secret")
        await context.clearCookies()
        for (const [address, words] of [
          ["/console/", "Accounts are created by invitation"],
          ["/console/#link=nothing", "This link signs you in once"],
          ["/console/#invitation=nothing", "Sign in instead"]
        ] as const) {
          // Another fragment alone loads nothing.
          await page.goto("about:blank")
          await page.goto(address)
          await page.getByText(words).waitFor()
          await look(address)
        }
        assert.deepStrictEqual(found, [])
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "revokes a key under a client that runs: its stream ends, its next call is refused, and the page says so",
    () =>
      asNewPerson(async ({ page, origin, sourceIp }) => {
        const secret = await createKey(page, "runner")
        const other = await createKey(page, "bystander")
        const port = Number(new URL(origin).port)
        const stream = (of: string) => new EventClient(port, "/api/v2/events", { authorization: `Bearer ${of}` })
        const client = stream(secret)
        const bystander = stream(other)
        for (const one of [client, bystander]) await one.until(() => one.lastEventId !== null)
        await page.getByRole("button", { name: "Revoke runner" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
        const row = page.getByRole("row").filter({ hasText: "runner" })
        await row.getByText("revoked").waitFor()
        assert.strictEqual((await sendTo(port, secret)("GET", "/api/v2/me")).status, 401)
        await client.until(() => client.isOver)
        const again = stream(secret)
        await again.until(() => again.isOver)
        assert.strictEqual(again.status, 401)
        let text = (await row.textContent())!
        assert.include(text, "in the console")
        // Another process's notes are read once it has written them.
        while (isOverAFleet && !text.includes("from ")) {
          await page.reload()
          text = (await row.textContent())!
        }
        assert.include(text, `from ${sourceIp}`)
        await untilFound(async () => (await row.getByRole("button").count()) === 0)
        assert.isFalse(bystander.isOver)
        assert.strictEqual((await sendTo(port, other)("GET", "/api/v2/me")).status, 200)
        bystander.close()
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "is the same in two tabs: what one does the other shows, and where one signs out the other is over",
    () =>
      asNewPerson(async ({ page, context, email }) => {
        await createSandbox(page, "shared", "research")
        const other = await context.newPage()
        await other.goto("/console/")
        for (const one of [page, other]) {
          await one.getByRole("row").filter({ hasText: "shared" }).getByText("running").waitFor()
        }
        await page.getByRole("link", { name: "shared" }).click()
        await page.locator(".state.current[data-state=running]").waitFor()
        const third = await context.newPage()
        await third.goto(page.url())
        await third.locator(".state.current[data-state=running]").waitFor()
        for (const one of [page, third, other]) await one.getByText("Live", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Stop shared" }).click()
        for (const one of [page, third]) await one.locator(".state.current[data-state=stopped]").waitFor()
        const row = other.getByRole("row").filter({ hasText: "shared" })
        await row.getByText("stopped").waitFor()
        await row.getByRole("button", { name: "Start" }).click()
        for (const one of [page, third]) await one.locator(".state.current[data-state=running]").waitFor()

        await other.getByRole("button", { name: "Sign out", exact: true }).click()
        await heading(other, "Sign in").waitFor()
        // Nobody touches these: their streams end with the session.
        for (const one of [page, third]) await one.getByText("Your session has ended").waitFor()
        for (const one of [page, third]) assert.notInclude(await one.content(), "shared")
        await signIn(other, email)
        await heading(other, "Sandboxes").waitFor()
        await third.reload()
        await third.locator(".state.current[data-state=running]").waitFor()
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "can be open in more tabs than a browser has connections: one that nobody sees gives its own back, and goes on when it is seen",
    () =>
      asOwner(async ({ page, context }, api) => {
        await context.addInitScript(
          `Object.defineProperty(document, "hidden", { get: () => globalThis.isAway === true })`
        )
        const look = (at: Page, isAway: boolean) =>
          at.evaluate(`globalThis.isAway = ${isAway}; document.dispatchEvent(new Event("visibilitychange"))`)
        const live = (at: Page) => at.getByText("Live", { exact: true }).waitFor()
        await page.reload()
        await live(page)
        await look(page, true)
        for (let count = 0; count < 7; count++) {
          const other = await context.newPage()
          await other.goto("/console/")
          await live(other)
          await look(other, true)
        }
        const id = await api.newSandbox(await api.newWorkspace())
        await look(page, false)
        await page.getByRole("row").filter({ hasText: id }).getByText("running").waitFor()
        await live(page)
      })
  )

  it.effect.skipIf(noChromium !== null)("shows hostile names as they are, wherever they stand", () =>
    asNewPerson(async ({ page, origin }) => {
      const secret = await createKey(page, hostileKey)
      const send = sendTo(Number(new URL(origin).port), secret)
      const headers = { "idempotency-key": "h" }
      const made = await send("POST", "/api/v2/workspaces", { headers, body: { name: hostile } })
      const sandbox = await send("POST", "/api/v2/sandboxes", {
        headers,
        body: { workspaceId: made.json.workspace.id, name: hostile, metadata: { [tag]: hostile } }
      })
      assert.strictEqual(sandbox.status, 202, sandbox.text)
      const { id } = sandbox.json.sandbox
      let expected = hostileKey
      const shown = async (...selectors: ReadonlyArray<string>) => {
        await atRest(page)
        const main = (await page.locator(selectors.join(", ")).allTextContents()).join("\n")
        assert.include(main, expected)
        await assertInert(page)
      }
      await page.getByText(hostileKey).first().waitFor()
      await shown("main")
      await page.getByRole("button", { name: `Revoke ${hostileKey}` }).click()
      await shown("dialog")
      await page.keyboard.press("Escape")
      await goTo(page, "Audit")
      await untilAudited(page, "createSandbox", hostileKey)
      await shown("main")
      await goTo(page, "Sandboxes")
      expected = hostile
      await page.getByRole("row").filter({ hasText: hostile }).getByText("running").waitFor()
      await shown("main")
      await page.getByRole("button", { name: "Create" }).click()
      await shown("dialog")
      await page.keyboard.press("Escape")
      await page.getByRole("button", { name: `Delete ${hostile}` }).click()
      await shown("dialog")
      await page.keyboard.press("Escape")
      await page.goto(`/console/sandboxes/${id}`)
      await page.locator(".state.current[data-state=running]").waitFor()
      await shown("main")
      await page.goto(`/console/?${encodeURIComponent(hostile)}#invitation=${encodeURIComponent(hostile)}`)
      await heading(page, "Sandboxes").waitFor()
      await assertInert(page)
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "fits a narrow screen and a wide one on each of its pages, and breaks its policy on none",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const wide: Array<string> = []
        let looked = 0
        /** At each page that the links lead to, without a load. */
        const walk = async (label: string, width: number) => {
          const links = page.getByRole("navigation", { name: label }).getByRole("link")
          for (const link of await links.all()) {
            const name = await link.textContent()
            await link.click()
            await page.getByRole("heading", { level: 1 }).waitFor()
            await atRest(page)
            const over = await tooWide(page)
            if (over > 0) wide.push(`${name} at ${width}: ${over} px`)
            looked += 1
          }
        }
        for (const [colorScheme, width] of [
          ["light", 360],
          ["dark", 1024]
        ] as const) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 800 })
          await walk("Pages", width)
          await page.goto(`/console/sandboxes/${id}`)
          await page.locator(".state.current").waitFor()
          await walk("Parts of the Sandbox", width)
        }
        assert.isAtLeast(looked, 28)
        assert.deepStrictEqual(wide, [])
      })
  )
})
