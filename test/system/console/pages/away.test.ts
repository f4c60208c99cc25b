/** Pages of the console while the service is away, in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, heading } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

layer(TestApi.layer(), { excludeTestServices: true })("a page while the service is away", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "that was not visited yet says so, and is there as soon as the service is",
    () =>
      asOwner(async ({ page, context }) => {
        await page.getByText("Live", { exact: true }).waitFor()
        await context.setOffline(true)
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Keys" }).click()
        await page.getByRole("alert").getByText("the service does not answer").waitFor()
        assert.notMatch((await page.locator("main").textContent())!, /import|module|http:/i)
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("alert").getByText("the service does not answer").waitFor()
        await context.setOffline(false)
        await heading(page, "Keys").waitFor()
      })
  )

  it.effect.skipIf(noChromium !== null)("tells the last moment at which it was live, not when it was loaded", () =>
    asOwner(async ({ page, context }) => {
      const loadedAt = Date.now()
      await page.getByText("Live", { exact: true }).waitFor()
      await untilFound(async () => Date.now() - loadedAt > 4000)
      const cutAt = Date.now()
      await context.setOffline(true)
      const told = (await page.getByText(/Not live, reconnecting … as of/).textContent())!
      const clock = (at: number) => new Date(at).toLocaleTimeString("en-GB")
      const near = [-1000, 0, 1000, 2000].map((ms) => clock(cutAt + ms))
      assert.include(near, /\d\d:\d\d:\d\d/.exec(told)![0])
      await context.setOffline(false)
      await page.getByText("Live", { exact: true }).waitFor()
    })
  )
})
