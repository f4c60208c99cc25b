/** A Sandbox's log, resources, cost and facts, and workspaces, in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import type { SandboxAnalytics } from "../../../../schemas/Analytics.ts"
import type { Cost } from "../../../../schemas/Usage.ts"
import { exactUsd } from "../../../../src/console/pages/format.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, tooWide } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

const minuteMs = 60_000

/** What axe-core finds in either theme; a narrow screen is not scrolled sideways. */
const assertAccessible = async (page: Page, where: string) => {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    assert.deepStrictEqual(await violations(page), [], `${where}, ${colorScheme}`)
  }
  const size = page.viewportSize()!
  await page.setViewportSize({ width: 360, height: 700 })
  assert.isAtMost(await tooWide(page), 0, `${where} is wider than a narrow screen`)
  await page.setViewportSize(size)
}

const textsOf = async (page: Page, selector: string) =>
  (await page.locator(selector).allTextContents()).map((text) => text.trim())

const size = { ATOLL_VOLUME_BYTES: String(4 * 1024 ** 3), ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2) }

layer(TestApi.layer(size), { excludeTestServices: true })("the parts of a Sandbox's page", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "show its log live, by filters, over a lost connection; hostile text does nothing",
    () =>
      asOwner(async ({ page, context }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const path = `/api/v2/sandboxes/${id}`
        const echo = (text: string) => api.send("POST", `${path}/execute`, { body: { argv: ["echo", text] } })
        const hostile = `<script>document.title = "owned"</script><img src=x onerror=alert(1)>`
        await echo(hostile)
        await echo("\u001b[2J\u001b]0;owned\u0007\u001b[31mred\u001b[0m \u202eturned\u0007")
        await page.goto(`/console/sandboxes/${id}/logs`)
        const line = (text: string) => page.locator(".line").getByText(text, { exact: true })
        await line(hostile).waitFor()
        // A real agent says first that it is there.
        const commands = (await textsOf(page, ".line")).filter((text) => !text.startsWith("atoll agent ready"))
        assert.deepStrictEqual(commands, [hostile, "red ‹U+202E›turned␇"])
        assert.strictEqual(await page.locator("img, script:not([type=module])").count(), 0)
        assert.match(await page.title(), /^Sandbox/)

        const live = page.locator(".logs .live")
        await live.waitFor()
        await echo("as it is written")
        await line("as it is written").waitFor()
        const started = await api.send("POST", `${path}/operations`, {
          body: { argv: ["echo", "of the operation"] },
          headers: { "idempotency-key": "one" }
        })
        const operationId: string = started.json.operation.id
        await line("of the operation").waitFor()
        await context.setOffline(true)
        await page.locator(".logs").getByText("Not live").waitFor()
        await echo("meanwhile")
        await context.setOffline(false)
        await line("meanwhile").waitFor()
        const entries = (await api.send("GET", `${path}/logs`)).json.logs.entries as ReadonlyArray<{ text: string }>
        assert.strictEqual((await textsOf(page, ".line")).length, entries.length, "each line once")
        await assertAccessible(page, "logs")

        await page.getByLabel("Contains").fill("OPERATION")
        await page.getByText(`1 of ${entries.length} lines`).waitFor()
        await page.getByLabel("Contains").fill("")
        await page.reload()
        await line("meanwhile").waitFor()
        await page.getByLabel("Operation").selectOption(operationId)
        await untilFound(async () => (await textsOf(page, ".line")).join() === "of the operation")
        await page.getByLabel("Operation").selectOption("")
        await page.getByLabel("Stream").selectOption("stderr")
        await page.getByText("No line matches the filters.").waitFor()
        await page.getByLabel("Stream").selectOption("")
        await page.getByLabel("Written by").selectOption("execute")
        await line("meanwhile").waitFor()
        await line("of the operation").waitFor({ state: "detached" })
        await page.getByLabel("Until").fill("2020-01-01T00:00")
        await page.getByText("No line matches the filters.").waitFor()
        assert.strictEqual(await live.count(), 0, "what has an end is not followed")
        await page.getByLabel("Until").fill("")
        await page.getByLabel("Written by").selectOption("process")
        await page.getByRole("link", { name: `op_…${operationId.slice(-6)}` }).click()
        await page.waitForURL(`**/operations/${operationId}`)
      })
  )

  it.effect.skipIf(noChromium !== null)(
    "hold a part of a long log in the document, and load older entries above what is seen",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const all = Array.from({ length: 2500 }, (_, index) => ({
          id: `entry ${index}`,
          at: new Date(Date.now() - (2500 - index) * 1000).toISOString(),
          stream: "stdout",
          source: "execute",
          operationId: null,
          text: `line ${index}\n`
        }))
        const stream = `id: 1-1\nevent: log\ndata: ${JSON.stringify({ entries: all.slice(1500), truncated: true })}\n\n`
        let isTold = false
        await page.route("**/logs/stream*", (route) => {
          if (isTold) return route.abort()
          isTold = true
          return route.fulfill({ contentType: "text/event-stream", body: stream })
        })
        await page.route("**/logs?*", (route) => {
          const end = Date.parse(new URL(route.request().url()).searchParams.get("until")!)
          const before = all.filter(({ at }) => Date.parse(at) < end)
          return route.fulfill({ json: { logs: { entries: before.slice(-1000), truncated: before.length > 1000 } } })
        })
        await page.goto(`/console/sandboxes/${id}/logs`)
        const line = (text: string) => page.locator(".line").getByText(text, { exact: true })
        await line("line 2499").waitFor()
        assert.isBelow(await page.locator(".of-log .windowed-body .row").count(), 80)
        const view = page.locator(".windowed")
        await view.evaluate((shown) => {
          ;(shown as unknown as { scrollTop: number }).scrollTop = 26 * 100
        })
        await line("line 1600").waitFor()
        await page.getByText("not following").waitFor()
        await page.getByRole("button", { name: "Show older" }).click()
        await page.getByText("1,999 lines").waitFor()
        await line("line 1600").waitFor()
        assert.isTrue(await line("line 1600").isVisible(), "what was seen stays in sight")
        await page.getByRole("button", { name: "Show older" }).click()
        await page.getByText("2,500 lines").waitFor()
        await page.getByRole("button", { name: "Show older" }).waitFor({ state: "detached" })
        await page.getByRole("button", { name: "Jump to the newest" }).click()
        await line("line 2499").waitFor()
      })
  )

  it.effect.skipIf(noChromium !== null)("draw what was measured; what was not is a gap and never zero", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const now = Math.floor(Date.now() / minuteMs) * minuteMs
        // Three samples, a gap of ten minutes, then one of memory alone, and of no use at all.
        const samples = [
          [40, 1.5, 300, 1000, 0, 0],
          [39, 4, 310, 1000, 5_000_000, 70_000],
          [38, 4, 320, 1000, 5_000_000, 70_000],
          [28, null, 330, null, null, null],
          [27, null, null, null, null, null]
        ] as const
        for (const [ago, cpu, memory, volume, rx, tx] of samples) {
          const bytes = (mib: number | null) => (mib === null ? null : BigInt(mib) * 1024n * 1024n)
          const whole = (value: number | null) => (value === null ? null : BigInt(value))
          await Effect.runPromise(sql`
            insert into telemetry_samples (sandbox_id, account_id, generation, at, cpu_seconds, memory_bytes, volume_bytes, network_rx_bytes, network_tx_bytes)
            values (${id}, ${api.accountId}, 1, ${BigInt(now - ago * minuteMs + 1000)}, ${cpu}, ${bytes(memory)}, ${bytes(volume)}, ${whole(rx)}, ${whole(tx)})`)
        }
        const asked = page.waitForResponse((answer) => answer.url().includes("/analytics?"))
        await page.goto(`/console/sandboxes/${id}/resources`)
        const { analytics } = (await (await asked).json()) as { analytics: SandboxAnalytics }
        const slider = page.getByRole("slider", { name: "Moment" })
        await slider.waitFor()
        assert.strictEqual(await page.locator(".uplot canvas").count(), 4)
        const readouts = async () =>
          (await textsOf(page, ".readout strong")).map((text) => text.replace("not measured", "–"))
        const shownAt = async (minutesAgo: number) => {
          const at = new Date(now - minutesAgo * minuteMs).toISOString()
          const index = analytics.resources.samples.findIndex((sample) => sample.at === at)
          await slider.fill(String(index))
          await page.locator(`[data-moment="${at}"]`).waitFor()
          return readouts()
        }
        assert.deepStrictEqual(await shownAt(40), ["1.5 s", "300 MiB", "1,000 MiB", "0 bytes", "0 bytes"])
        assert.deepStrictEqual(await shownAt(39), ["2.5 s", "310 MiB", "1,000 MiB", "4.8 MiB", "68.4 KiB"])
        assert.deepStrictEqual(await shownAt(38), ["0 s", "320 MiB", "1,000 MiB", "0 bytes", "0 bytes"])
        assert.deepStrictEqual(await shownAt(33), ["–", "–", "–", "–", "–"])
        assert.deepStrictEqual(await shownAt(28), ["–", "330 MiB", "–", "–", "–"])
        const moment = page.locator("[data-moment]")
        await page
          .locator(".u-over")
          .first()
          .hover({ position: { x: 1, y: 20 } })
        await untilFound(async () => (await moment.getAttribute("data-moment")) === analytics.resources.samples[0]!.at)
        await page.getByText("As a table").click()
        await page.getByRole("table", { name: "Measurements" }).waitFor()
        assert.isAbove(await page.getByRole("row").filter({ hasText: "not measured" }).count(), 5)
        await assertAccessible(page, "resources")
        for (const [label, buckets] of [
          ["24 h", 721],
          ["7 d", 673]
        ] as const) {
          const again = page.waitForResponse((answer) => answer.url().includes("/analytics?"))
          await page.getByLabel("Window").selectOption({ label })
          const { analytics: wider } = (await (await again).json()) as { analytics: SandboxAnalytics }
          assert.isAtMost(Math.abs(wider.resources.samples.length - buckets), 1, label)
          await slider.waitFor()
        }
      })
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "show what it cost to the micro-dollar, as the API says, and why it is nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* asOwner(async ({ page }, api) => {
          await Effect.runPromise(sql`
          insert into rate_cards values (${BigInt(Date.now())}, 5000000123, 3000000456, 7000789, 0, 7000789) on conflict do nothing`)
          const id = await api.newSandbox(await api.newWorkspace())
          const path = `/api/v2/sandboxes/${id}`
          const costsPath = `/api/v2/usage/costs?groupBy=day&sandboxId=${id}`
          await untilFound(async () => (await api.send("GET", costsPath)).json.totalMicroUsd > 1000)
          await page.goto(`/console/sandboxes/${id}/cost`)
          const shown = (what: string) => page.locator(`[data-cost="${what}"]`)
          await shown("burn").waitFor()
          const burning = (await api.send("GET", costsPath)).json
          assert.isAbove(burning.burnMicroUsdPerHour, 0)
          assert.strictEqual(await shown("burn").textContent(), exactUsd(burning.burnMicroUsdPerHour))
          await api.send("DELETE", path)
          await untilFound(async () => (await shown("burn").textContent()) === "$0.000000")
          const { costs, totalMicroUsd } = (await api.send("GET", costsPath)).json as {
            costs: ReadonlyArray<Cost>
            totalMicroUsd: number
          }
          await untilFound(async () => (await shown("total").textContent()) === exactUsd(totalMicroUsd))
          const kinds = ["vcpuMicroUsd", "memoryMicroUsd", "volumeMicroUsd", "snapshotMicroUsd"] as const
          const sum = (of: (cost: Cost) => number) => exactUsd(costs.reduce((all, cost) => all + BigInt(of(cost)), 0n))
          assert.deepStrictEqual(
            await Promise.all(["vcpu", "memory", "volume", "snapshots"].map((what) => shown(what).textContent())),
            kinds.map((kind) => sum(({ components }) => components[kind]))
          )
          await page.getByText("As a table").click()
          assert.deepStrictEqual(
            await textsOf(page, "details tbody td"),
            costs.flatMap(({ key, microUsd, components }) => [
              key,
              ...[...kinds.map((kind) => components[kind]), microUsd].map(exactUsd)
            ])
          )
          await assertAccessible(page, "cost")
          await Effect.runPromise(sql`delete from segments where sandbox_id = ${id}`)
          await Effect.runPromise(sql`delete from meters where sandbox_id = ${id}`)
          await page.reload()
          await page.getByText("deleted before this service metered usage").waitFor()
        })
      })
  )

  it.effect.skipIf(noChromium !== null)("tell all that the service tells of it", () =>
    asOwner(async ({ page }, api) => {
      const workspaceId = await api.newWorkspace()
      const created = await api.send("POST", "/api/v2/sandboxes", {
        body: {
          workspaceId,
          name: "named",
          networkEnabled: false,
          metadata: { team: "<b>blue</b>", "a\u202eb": "" },
          env: { API_TOKEN: "hidden" },
          lifetime: { stopAfterIdleSeconds: 1800, deleteAfterStoppedSeconds: 86_400 }
        },
        headers: { "idempotency-key": "facts" }
      })
      const path = `/api/v2/sandboxes/${created.json.sandbox.id}`
      await untilFound(async () => (await api.send("GET", path)).json.sandbox.status === "running")
      api.crash(created.json.sandbox.id)
      await untilFound(async () => (await api.send("GET", path)).json.sandbox.status === "stopped")
      const { sandbox } = (await api.send("GET", path)).json
      await page.goto(`/console/sandboxes/${sandbox.id}`)
      const facts = page.getByRole("region", { name: "Facts" })
      await facts.getByRole("button", { name: "Facts" }).click()
      await facts.getByRole("link", { name: "test" }).waitFor()
      const text = (await facts.textContent())!
      for (const part of [
        sandbox.id,
        sandbox.volume.id,
        sandbox.statusReason.code,
        sandbox.statusReason.message,
        "512 MiB",
        "4 GiB",
        "vCPUs1",
        "Networknone",
        "Generation1",
        "<b>blue</b>",
        "a‹U+202E›b",
        "stops after 30 min without use; is deleted after 1 d stopped",
        "VariablesAPI_TOKEN"
      ]) {
        assert.include(text, part)
      }
      assert.notInclude(text, "hidden")
      const instants = await facts
        .locator("time")
        .evaluateAll((found) => found.map((one) => (one as unknown as { dateTime: string }).dateTime))
      const { createdAt, startedAt, stoppedAt, updatedAt, lifetime } = sandbox
      assert.deepStrictEqual(instants, [createdAt, startedAt, stoppedAt, updatedAt, lifetime.deleteAt])
      await facts.getByRole("link", { name: "test" }).click()
      await page.getByRole("heading", { name: "Sandboxes", level: 1 }).waitFor()
      assert.strictEqual(await page.getByLabel("Workspace").inputValue(), workspaceId)
      await page.getByText("1 of").waitFor()
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "one is made with variables and a lifetime, and changed where it is shown; no variable's value is",
    () =>
      asOwner(async ({ page }, api) => {
        const workspaceId = await api.newWorkspace()
        await page.goto(`/console/workspaces/${workspaceId}`)
        const dialog = page.getByRole("dialog")
        const idle = dialog.getByLabel("Stop when idle for")
        const save = dialog.getByRole("button", { name: "Save" })
        await page.getByRole("button", { name: "Create" }).click()
        await dialog.getByLabel("Name", { exact: true }).fill("before")
        await dialog.getByText("More: network").click()
        await dialog.getByLabel("Metadata").fill("team=blue\nstage=test")
        await dialog.getByLabel("Variables").fill("API_TOKEN=s3cret=1\nOLD=s3cret")
        await idle.fill("soon")
        await assertAccessible(page, "the form of a new Sandbox")
        await dialog.getByRole("button", { name: "Create" }).click()
        await dialog.getByText("“soon” is not a time such as 30 min, 8 h or 7 d.").waitFor()
        await idle.fill("8 h 30 min")
        await dialog.getByRole("button", { name: "Create" }).click()
        await dialog.waitFor({ state: "detached" })
        await page.getByRole("heading", { name: "before", level: 1 }).waitFor()

        const facts = page.getByRole("region", { name: "Facts" })
        await facts.getByRole("button", { name: "Facts" }).click()
        await facts.getByText("stops after 8 h 30 min without use").waitFor()
        const { pathname } = new URL(page.url())
        const path = pathname.replace("/console", "/api/v2")
        const stored = async () => (await api.send("GET", path)).json.sandbox
        await untilFound(async () => (await stored()).status === "running")
        const first = await stored()
        assert.deepInclude(first, {
          name: "before",
          metadata: { team: "blue", stage: "test" },
          envNames: ["API_TOKEN", "OLD"]
        })
        assert.strictEqual(first.lifetime.stopAfterIdleSeconds, 30_600)
        await facts.getByText("Stops when idle until").waitFor()
        await facts.getByText(/\(in 8 h \d+ min\)/).waitFor()
        await facts.getByText("API_TOKEN, OLD").waitFor()

        const change = facts.getByRole("button", { name: "Change this Sandbox" })
        await change.focus()
        await page.keyboard.press("Enter")
        await dialog.getByRole("heading", { name: "Change this Sandbox" }).waitFor()
        assert.strictEqual(await dialog.getByLabel("Variables").inputValue(), "API_TOKEN\nOLD")
        assert.strictEqual(await idle.inputValue(), "8 h 30 min")
        await assertAccessible(page, "the form that changes a Sandbox")
        // Somebody else changes something else meanwhile.
        await api.send("PATCH", path, { body: { metadata: { other: "kept" } } })
        await dialog.getByLabel("Name", { exact: true }).fill("<i>after</i>")
        await dialog.getByLabel("Metadata").fill("stage=test\nowner=me")
        await dialog.getByLabel("Variables").fill("API_TOKEN\n1ST=s3cret")
        await idle.fill("")
        await dialog.getByLabel("Delete, with its volume, when stopped for").fill("1 d")
        await save.click()
        await dialog
          .locator(".mistake")
          .getByText(/a name of letters, digits and _/)
          .waitFor()
        await dialog.getByLabel("Variables").fill("API_TOKEN\nNEW=s3cret")
        await page.keyboard.press("Control+Enter")
        await dialog.waitFor({ state: "detached" })
        await page.getByRole("heading", { name: "<i>after</i>", level: 1 }).waitFor()
        await facts.getByText("is deleted after 1 d stopped").waitFor()
        await facts.getByText("API_TOKEN, NEW").waitFor()
        await untilFound(
          async () => (await page.evaluate("document.activeElement.textContent")) === (await change.textContent())
        )
        const after = await stored()
        assert.deepInclude(after, {
          name: "<i>after</i>",
          metadata: { stage: "test", owner: "me", other: "kept" },
          envNames: ["API_TOKEN", "NEW"]
        })
        assert.deepInclude(after.lifetime, {
          stopAfterIdleSeconds: null,
          deleteAfterStoppedSeconds: 86_400,
          idleStopAt: null
        })
        assert.notInclude(await page.content(), "s3cret")

        await change.click()
        await dialog.getByLabel("Name", { exact: true }).fill("never")
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "detached" })
        assert.strictEqual((await stored()).name, "<i>after</i>")
        await api.send("DELETE", path)
        await change.waitFor({ state: "detached" })
      })
  )

  it.effect.skipIf(noChromium !== null)("workspaces are made, renamed, and deleted once they are empty", () =>
    asOwner(async ({ page }, api) => {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Workspaces" }).click()
      const dialog = page.getByRole("dialog")
      await page.getByRole("button", { name: "Create" }).click()
      await dialog.getByLabel("Name").fill("first name")
      await dialog.getByRole("button", { name: "Create" }).click()
      const row = page.getByRole("row").filter({ hasText: /first name|<img/ })
      await row.waitFor()
      const workspaceId = (await row.locator("code").textContent())!
      const hostile = "<img src=x onerror=alert(1)>"
      await page.getByRole("button", { name: "Rename first name" }).click()
      assert.strictEqual(await dialog.getByLabel("Name").inputValue(), "first name")
      await dialog.getByLabel("Name").fill(hostile)
      await dialog.getByRole("button", { name: "Rename" }).click()
      await row.getByRole("link", { name: hostile }).waitFor()
      assert.strictEqual(await page.locator("img").count(), 0)
      assert.strictEqual((await api.send("GET", `/api/v2/workspaces/${workspaceId}`)).json.workspace.name, hostile)
      await assertAccessible(page, "workspaces")

      const sandboxId = await api.newSandbox(workspaceId)
      await row.getByRole("button", { name: "Delete" }).click()
      await dialog.getByRole("button", { name: "Delete" }).click()
      const fault = dialog.getByRole("alert")
      await fault.getByText("The workspace has Sandboxes. Delete them first").waitFor()
      assert.match((await fault.textContent())!, /WORKSPACE_NOT_EMPTY · request req_/)
      await dialog.getByRole("link", { name: "Show its Sandboxes" }).click()
      await page.getByRole("heading", { name: "Sandboxes", level: 1 }).waitFor()
      const sandbox = page.getByRole("row").filter({ hasText: sandboxId })
      await page.setViewportSize({ width: 1200, height: 800 })
      const remove = sandbox.getByRole("button", { name: "Delete" })
      await remove.waitFor()
      const [button, view] = [(await remove.boundingBox())!, (await page.locator(".windowed").boundingBox())!]
      assert.isAtMost(button.x + button.width, view.x + view.width, "the button is clipped")
      await remove.click()
      await dialog.getByRole("button", { name: "Delete" }).click()
      await page.getByText("No Sandbox matches the filters.").waitFor()
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Workspaces" }).click()
      await row.getByRole("button", { name: "Delete" }).click()
      await dialog.getByRole("button", { name: "Delete" }).click()
      await row.waitFor({ state: "detached" })
      assert.strictEqual((await api.send("GET", `/api/v2/workspaces/${workspaceId}`)).status, 404)
    })
  )
})
