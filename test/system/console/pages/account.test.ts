/** What an account sees of itself in a real Chromium: its keys, its money, its audit log, its sessions; each against what the API says. */
import { assert, layer } from "@effect/vitest"
import type { Locator } from "playwright-core"
import type { Balance, Cost, WalletTransaction } from "../../../../schemas/Usage.ts"
import { exactUsd, signedUsd, size, usd } from "../../../../src/console/pages/format.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import {
  asNewPerson,
  asOwner,
  atRest,
  createKey,
  createSandbox,
  goTo,
  heading,
  signIn
} from "../../../support/console/pages/visits.ts"
import { sendTo, TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

const cells = (within: Locator) => within.locator("tbody td").allTextContents()

layer(TestApi.layer(), { excludeTestServices: true })("an account's pages in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)("keys have scopes and an end that one chooses, and are copied whole", () =>
    asNewPerson(async ({ page, context, origin }) => {
      await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin })
      await goTo(page, "Keys")
      await page.getByRole("button", { name: "Create" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Name", { exact: true }).fill("Development")
      for (const scope of await dialog.getByRole("checkbox").all()) await scope.uncheck()
      await dialog.getByRole("button", { name: "Create the key" }).click()
      await dialog.getByText("Choose at least one scope.").waitFor()
      await dialog.getByLabel("sandbox:read").check()
      await dialog.getByLabel("Expires").fill("2001-02-03T04:05")
      await dialog.getByRole("button", { name: "Create the key" }).click()
      await dialog.locator(".field:has([name=expiresAt]) .mistake").waitFor()
      await dialog.getByLabel("Expires").fill("2101-02-03T04:05")
      await dialog.getByRole("button", { name: "Create the key" }).click()
      await dialog.getByText("shown now and never again").waitFor()
      await dialog.getByRole("button", { name: "Copy the secret" }).click()
      await dialog.getByText("Copied.").waitFor()
      const secret = (await page.evaluate("navigator.clipboard.readText()")) as string
      assert.match(secret, /^atoll_live_\w{43}$/)
      assert.strictEqual(await dialog.locator(".secret").textContent(), secret)
      await dialog.getByRole("button", { name: "I have saved it" }).click()
      const send = sendTo(Number(new URL(origin).port), secret)
      assert.strictEqual((await send("GET", "/api/v2/sandboxes")).status, 200)
      assert.strictEqual((await send("GET", "/api/v2/usage")).status, 403)
      const row = page.getByRole("row").filter({ hasText: "Development" })
      assert.deepStrictEqual(await row.getByRole("listitem").allTextContents(), ["sandbox:read"])
      assert.include(await row.textContent(), `… ${secret.slice(-4)}`)
      assert.include(await row.textContent(), "until 3 Feb 2101")
      await page.setViewportSize({ width: 360, height: 700 })
      const lines = async (of: Locator): Promise<number> => {
        const height = (one: unknown) =>
          (one as { getBoundingClientRect: () => { height: number } }).getBoundingClientRect().height
        return Math.round((await of.evaluate(height)) / 20)
      }
      assert.deepStrictEqual(
        [await lines(row.locator("strong")), await lines(row.locator("code"))],
        [1, 1],
        "no word is broken"
      )
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "the wallet says what is left, until when, of which grants, and what each day cost, as the API does",
    () =>
      asNewPerson(async ({ page, origin }) => {
        const secret = await createKey(page, "mine")
        const send = sendTo(Number(new URL(origin).port), secret)
        const balanceNow = async () => (await send("GET", "/api/v2/usage/balance")).json.balance as Balance
        const wallet = page.getByRole("region", { name: "Wallet" })
        /** Once the page and the API say the same: both go on while something burns. */
        const agree = (holds: (balance: Balance) => Promise<boolean>) =>
          untilFound(async () => {
            const balance = await balanceNow()
            await page.getByRole("button", { name: "Refresh: Wallet" }).click()
            await atRest(page)
            return holds(balance)
          })
        const figure = (name: string) => wallet.locator(".figures > div").filter({ hasText: name }).locator("dd")
        const dry = () => figure("Credit runs out").locator("time").getAttribute("datetime")

        await goTo(page, "Sandboxes")
        await createSandbox(page, "burner", "research")
        await page.getByRole("row").filter({ hasText: "burner" }).getByText("running").waitFor()
        await untilFound(async () => (await balanceNow()).burnMicroUsdPerHour > 0)
        await goTo(page, "Usage")
        await agree(
          async ({ burnMicroUsdPerHour, exhaustsAt }) =>
            (await figure("Cost per hour").textContent()) === usd(burnMicroUsdPerHour) &&
            Math.abs(Date.parse((await dry())!) - Date.parse(exhaustsAt!)) < 1000
        )
        assert.strictEqual(await figure("State").textContent(), "funded")

        const [sandbox] = (await send("GET", "/api/v2/sandboxes")).json.sandboxes
        await send("DELETE", `/api/v2/sandboxes/${sandbox.id}`)
        const transactionsNow = async () =>
          (await send("GET", "/api/v2/usage/transactions")).json.transactions as ReadonlyArray<WalletTransaction>
        await untilFound(async () => {
          const { burnMicroUsdPerHour, microUsd } = await balanceNow()
          const [newest, ...others] = await transactionsNow()
          return burnMicroUsdPerHour === 0 && others.length > 0 && newest!.balanceMicroUsd === microUsd
        })
        const granted = wallet.getByRole("table", { name: "Grants of credit" })
        await agree(async ({ microUsd, grants: [grant] }) => {
          const shown = [await figure("Balance").textContent(), ...(await cells(granted)).slice(0, 5)]
          const told = [usd(microUsd), "promotional", "active", "$10.00", usd(grant!.remainingMicroUsd), usd(0)]
          return shown.join() === told.join()
        })
        const { grants } = await balanceNow()
        assert.deepStrictEqual(
          await granted
            .locator("time")
            .evaluateAll((found) => found.map((one) => (one as unknown as { dateTime: string }).dateTime)),
          [grants[0]!.effectiveAt, grants[0]!.expiresAt]
        )

        await page.reload()
        await heading(page, "Usage and wallet").waitFor()
        await atRest(page)
        const transactions = await transactionsNow()
        const listed = await cells(page.getByRole("region", { name: "Transactions" }))
        assert.strictEqual(listed.length, 5 * transactions.length)
        for (const [index, { kind, description, sandboxId, microUsd, balanceMicroUsd }] of transactions.entries()) {
          assert.deepStrictEqual(listed.slice(5 * index + 1, 5 * index + 5), [
            kind,
            description + (sandboxId ?? ""),
            signedUsd(microUsd),
            usd(balanceMicroUsd)
          ])
        }

        const costs = page.getByRole("region", { name: "Costs by day" })
        const { costs: days } = (await send("GET", "/api/v2/usage/costs?groupBy=day")).json as {
          costs: ReadonlyArray<Cost>
        }
        assert.isTrue(days.some(({ microUsd }) => microUsd > 0))
        const bars = (await costs.locator(".bar").evaluateAll((found) =>
          found.map((one) => {
            const bar = one as unknown as { textContent: string; getAttribute: (name: string) => string }
            return [bar.textContent, Number(bar.getAttribute("height"))]
          })
        )) as ReadonlyArray<readonly [string, number]>
        const today = new Date()
        const daysOfMonth = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 0)).getUTCDate()
        assert.strictEqual(bars.length, daysOfMonth)
        assert.deepStrictEqual(
          bars.filter(([, height]) => height > 0).map(([text]) => text),
          days.filter(({ microUsd }) => microUsd > 0).map(({ key, microUsd }) => `${key}: ${exactUsd(microUsd)}`)
        )
        await page.getByLabel("UTC month").selectOption("1")
        await costs.getByText("Total $0.00").waitFor()
        assert.isTrue((await costs.locator(".bar").count()) >= 28)
        assert.deepStrictEqual(await cells(costs), [])
      })
  )

  it.effect.skipIf(noChromium !== null)("the audit log is filtered by what it says, and paged", () =>
    asOwner(
      async ({ page }, api) => {
        const nobody = "sbx_01m80z8t47ezf83e6wj5da1qzb"
        const before = new Date(Date.now() - 60_000).toISOString()
        const calls = 103
        for (let done = 0; done < calls; done += 20) {
          const some = Math.min(20, calls - done)
          await Promise.all(
            Array.from({ length: some }, () => api.send("DELETE", `/api/v2/sandboxes/${nobody}/previews`))
          )
        }
        const id = await api.newSandbox(await api.newWorkspace())
        const agent = { "user-agent": "a".repeat(200) }
        const operations = `/api/v2/sandboxes/${id}/operations`
        await api.send("POST", operations, { body: "hang", headers: { ...agent, "content-type": "text/plain" } })
        const hung = await api.send("POST", operations, {
          body: { argv: ["hang"] },
          headers: { ...agent, "idempotency-key": "hang" }
        })
        await api.send("POST", `${operations}/${hung.json.operation.id}/cancel`, { headers: agent })
        await api.send("POST", `/api/v2/sandboxes/${id}/stop`, { headers: agent })
        await api.auditWritten()
        await goTo(page, "Audit")
        const events = page.getByRole("region", { name: "Events" })
        const rows = events.locator("tbody tr")
        const more = page.getByRole("button", { name: "Show more" })
        const filter = async (field: string, text: string) => {
          await page.getByLabel(field, { exact: true }).fill(text)
          await page.getByRole("button", { name: "Filter", exact: true }).click()
          await atRest(page)
        }
        const reset = async () => {
          await page.getByRole("button", { name: "Reset" }).click()
          await atRest(page)
        }
        await filter("Action", "closePreviews")
        assert.strictEqual(await rows.count(), 100)
        await more.click()
        await rows.nth(calls - 1).waitFor()
        assert.strictEqual(await rows.count(), calls)
        await more.waitFor({ state: "detached" })
        const ids = await rows.locator("td:last-child code:last-child").allTextContents()
        assert.strictEqual(new Set(ids).size, calls, "each once")
        assert.deepStrictEqual([...new Set(await rows.locator("strong").allTextContents())], ["closePreviews"])
        await reset()
        await filter("Sandbox", id)
        const listed = (await api.send("GET", `/api/v2/usage/audit?sandboxId=${id}`)).json.events as ReadonlyArray<{
          readonly action: string
          readonly requestId: string
        }>
        assert.include(
          listed.map(({ action }) => action),
          "stopSandbox"
        )
        assert.deepStrictEqual(
          await rows.locator("td:last-child code:last-child").allTextContents(),
          listed.map(({ requestId }) => requestId)
        )
        const over = (one: unknown) => {
          const { scrollWidth, clientWidth } = one as { scrollWidth: number; clientWidth: number }
          return scrollWidth - clientWidth
        }
        await page.setViewportSize({ width: 1280, height: 800 })
        assert.strictEqual(await events.locator(".scrolls").evaluate(over), 0, "ids are cut by nothing")
        await reset()
        await filter("To", before.slice(0, 16))
        await page.getByText("No event matches.").waitFor()
        await reset()
        await filter("From", before.slice(0, 16))
        assert.strictEqual(await rows.count(), 100)
        await filter("Sandbox", "nothing that is an id")
        const fault = page.getByRole("alert")
        await fault.getByText("req_").waitFor()
      },
      { timezoneId: "UTC" }
    )
  )

  it.effect.skipIf(noChromium !== null)("shows its limits and its sessions, and ends one of them", () =>
    asNewPerson(async ({ page, email, origin, sourceIp }) => {
      const context = await page.context().browser()!.newContext({ baseURL: origin })
      const other = await context.newPage()
      await other.goto("/console/")
      await signIn(other, email)
      await heading(other, "Sandboxes").waitFor()
      const secret = await createKey(page, "mine")
      const { account, limits } = (await sendTo(Number(new URL(origin).port), secret)("GET", "/api/v2/me")).json
      await goTo(page, "Account")
      assert.deepStrictEqual(
        await page
          .getByRole("region", { name: "Account" })
          .locator("dd")
          .allTextContents()
          .then((all) => all.toSpliced(2, 1)),
        [
          account.name,
          account.id,
          `at most ${limits.sandboxes}`,
          `at most ${limits.workspaces}`,
          `at most ${size(limits.workspaceStorageBytes)}`
        ]
      )
      const sessions = page.getByRole("region", { name: "Sessions" }).locator("tbody tr")
      assert.strictEqual(await sessions.count(), 2)
      assert.strictEqual(await sessions.filter({ hasText: "this one" }).count(), 1)
      assert.include((await sessions.allTextContents()).join(), "by registration")
      await page.getByRole("button", { name: `End the session from ${sourceIp}` }).click()
      await untilFound(async () => (await sessions.count()) === 1)
      await other.getByText("Your session has ended").waitFor()
      assert.include(await sessions.textContent(), "this one")
      await context.close()
    })
  )

  it.effect.skipIf(noChromium !== null)("keeps the link that one came by until one has signed out", () =>
    asNewPerson(async ({ page }) => {
      const hash = () => page.evaluate("location.hash")
      const notice = page.getByText("Sign out to use it")
      // Another fragment alone loads nothing.
      await page.goto("/console/#link=one")
      await notice.waitFor()
      assert.strictEqual(await hash(), "")
      await page.goto("about:blank")
      await page.goto("/console/#invitation=two")
      await page.getByText("You opened an invitation").waitFor()
      assert.strictEqual(await hash(), "")
      await page.getByRole("button", { name: "Sign out", exact: true }).click()
      await heading(page, "Create an account").waitFor()
      await page.getByRole("button", { name: "Sign in instead" }).click()
      await heading(page, "Sign in").waitFor()
    })
  )
})
