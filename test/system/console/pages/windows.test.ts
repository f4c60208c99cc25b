/** More windows of one browser than it has connections to a host: all of them load, those that were used last are live, and each can be. */
import { assert, layer } from "@effect/vitest"
import type { Page } from "playwright-core"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

const windowsCount = 7

/** As in turn.ts: of the six that a browser has, two are for all else. */
const streamsMax = 4

const isLive = async (page: Page): Promise<boolean> => (await page.getByText("Live", { exact: true }).count()) === 1

const isResting = async (page: Page): Promise<boolean> =>
  (await page.getByText("other windows use this browser's connections").count()) === 1

layer(TestApi.layer(), { excludeTestServices: true })("a browser's windows", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "all load, however many are seen; as many as it can are live, and each is once it is used, with what it missed",
    () =>
      asOwner(async ({ page: first, context }, api) => {
        await first.goto("about:blank")
        const workspace = await api.newWorkspace()
        const id = await api.newSandbox(workspace)
        const windows: Array<Page> = []
        for (let n = 0; n < windowsCount; n++) {
          const page = await context.newPage()
          windows.push(page)
          await page.goto(n % 2 === 0 ? "/console" : `/console/sandboxes/${id}`)
          await page.locator(".status.running").first().waitFor()
        }
        for (const page of windows) assert.isFalse(await page.evaluate("document.hidden"))
        const settled = async (live: ReadonlyArray<Page>) =>
          untilFound(async () => {
            for (const page of windows) if (!(await (live.includes(page) ? isLive : isResting)(page))) return false
            return true
          })
        await settled(windows.slice(-streamsMax))
        // The user sees what happened while this window rested.
        await api.send("POST", `/api/v2/sandboxes/${id}/stop`)
        for (const page of windows.slice(-streamsMax)) await page.locator(".status.stopped").first().waitFor()
        const used = windows[0]!
        assert.strictEqual(await used.locator(".status.stopped").count(), 0)
        await used.locator("h1").click()
        await used.locator(".status.stopped").first().waitFor()
        await settled([used, ...windows.slice(-streamsMax + 1)])
        // One that goes leaves its place to the one that was used before.
        await windows.at(-1)!.close()
        windows.pop()
        await settled([used, ...windows.slice(-streamsMax + 1)])
      })
  )
})
