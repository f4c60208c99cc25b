/** What real commands write and use: their log as it is written, a flood of it, and what was measured. */
import { assert, layer } from "@effect/vitest"
import { Layer } from "effect"
import { describe } from "vitest"
import type { SandboxAnalytics } from "../../../../../schemas/Analytics.ts"
import { linesMax } from "../../../../../src/console/pages/sandbox/logs/lines.ts"
import { servedVisit, unvisitable } from "../../../../support/console/pages/sandbox/servedVisit.ts"

import { freshDriver, skipped } from "../../../../support/host/namespace/TestHost.ts"
import { ServedAtoll } from "../../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../../support/TestDatabase.ts"
import { untilFound } from "../../../../support/until.ts"

const environment = {
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  ATOLL_TELEMETRY_INTERVAL_MS: "500"
}

const measured = Layer.suspend(() => ServedAtoll.layer(freshDriver(environment), environment)).pipe(
  Layer.provideMerge(TestDatabase.layer)
)

describe.skipIf(skipped(unvisitable))("a real Sandbox's page", () => {
  layer(measured, { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect("has both streams of what runs, outlives a flood, and shows what was measured", () =>
      servedVisit(async ({ page, sandboxId, send }) => {
        await page.goto(`/console/sandboxes/${sandboxId}/logs`)
        await page.locator(".logs .live").waitFor()
        const line = (text: string) => page.locator(".line").getByText(text, { exact: true })
        await send("POST", "/operations", {
          argv: ["sh", "-c", `printf 'first\\n'; sleep 0.3; printf 'wrong\\033[1m!\\033[0m\\n' >&2; exec sleep 60`]
        })
        await line("first").waitFor()
        const wrong = page.locator(".line.stderr").filter({ hasText: "wrong!" })
        await wrong.waitFor()
        assert.strictEqual(await wrong.locator(".bold").textContent(), "!")
        const row = page.getByRole("row").filter({ has: wrong })
        assert.match((await row.textContent())!, /stderr.*op_…/)

        // Some 12 MB, more than a page holds.
        await send("POST", "/operations", { argv: ["sh", "-c", "seq -f 'flood %.0f of many' 1 600000; echo the last"] })
        await line("the last").waitFor()
        await untilFound(async () =>
          ((await page.locator(".found").textContent()) ?? "").startsWith(linesMax.toLocaleString("en-US"))
        )
        assert.isBelow(await page.locator(".of-log .windowed-body .row").count(), 80)
        await page.getByText("Use From and Until to find older ones.").waitFor()
        await page.getByLabel("Contains").fill("the last")
        await page.getByText(`1 of ${linesMax.toLocaleString("en-US")} lines`).waitFor()

        const asked = page.waitForResponse((answer) => answer.url().includes("/analytics?"))
        await page.getByRole("link", { name: "Resources" }).click()
        const { analytics } = (await (await asked).json()) as { analytics: SandboxAnalytics }
        const newest = analytics.resources.samples.findLast(({ cpuSeconds }) => cpuSeconds !== null)!
        assert.isAbove(newest.cpuSeconds!, 0)
        assert.isAbove(newest.memoryBytes!, 0)
        assert.isNull(newest.networkRxBytes, "it has no network")
        const moment = page.locator("[data-moment]")
        await moment.waitFor()
        assert.strictEqual(await moment.getAttribute("data-moment"), newest.at)
        const shown = await page.locator(".readout strong").allTextContents()
        assert.strictEqual(Number.parseFloat(shown[0]!).toFixed(1), newest.cpuSeconds!.toFixed(1))
        assert.strictEqual(shown.length, 3)
        await page.getByText("No measurement in this time.").waitFor()
      })
    )
  })
})
