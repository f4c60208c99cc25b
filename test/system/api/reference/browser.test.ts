/** The reference in a real Chromium: nothing is refused by its policy, a language is chosen without a script, and it fits a telephone. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { BrowserContextOptions } from "playwright-core"
import { violations } from "../../../support/console/pages/axe.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { asNewPerson, goTo } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const opened = (options: BrowserContextOptions = {}) =>
  Effect.gen(function* () {
    const { port } = yield* TestApi
    const browser = yield* testBrowser
    return yield* browser.open(`http://127.0.0.1:${port}`, options)
  })

layer(TestApi.layer(), { excludeTestServices: true })("the reference in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)("shows one language at a time, which a reader chooses by keyboard, too", () =>
    Effect.gen(function* () {
      const { page, complaints } = yield* opened()
      yield* Effect.promise(async () => {
        await page.goto("/docs#createSandbox")
        const samples = page.locator("#createSandbox .sample")
        const shown = async () =>
          (await samples.filter({ visible: true }).locator("figcaption").allTextContents()).join()
        assert.strictEqual(await shown(), "curl")
        await page.getByLabel("Python").check()
        assert.strictEqual(await shown(), "Python")
        await page.keyboard.press("ArrowLeft")
        assert.strictEqual(await shown(), "TypeScript")
        await page.getByRole("navigation").getByRole("link", { name: "Start an operation" }).click()
        assert.match(page.url(), /#startOperation$/)
        const heading = page.locator("#startOperation h3")
        const box = (await heading.boundingBox())!
        assert.isTrue(box.y >= 48 && box.y < 200, `below the header: ${box.y}`)
        assert.deepStrictEqual(complaints, { texts: [], elsewhere: [] })
      })
    })
  )

  for (const colorScheme of ["light", "dark"] as const) {
    it.effect.skipIf(noChromium !== null)(`can be read by everybody, ${colorScheme}, 390 pixels wide and 1280`, () =>
      Effect.gen(function* () {
        const { page, complaints } = yield* opened({ colorScheme })
        yield* Effect.promise(async () => {
          for (const width of [1280, 390]) {
            await page.setViewportSize({ width, height: 844 })
            await page.goto("/docs")
            const widest = await page.evaluate("document.documentElement.scrollWidth")
            assert.strictEqual(widest, width, "no scrolling sideways")
          }
          for (const within of ["header", "#start", "#createSandbox", "#CREDIT_EXHAUSTED"]) {
            assert.deepStrictEqual(await violations(page, { within }), [], within)
          }
          assert.deepStrictEqual(complaints, { texts: [], elsewhere: [] })
        })
      })
    )
  }

  it.effect.skipIf(noChromium !== null)(
    "is where the console's navigation leads, and the code of an error that it shows",
    () =>
      asNewPerson(async ({ page }) => {
        await goTo(page, "Keys")
        // An error that belongs to no field of the form.
        const refusal = {
          code: "ACCOUNT_SUSPENDED",
          message: "The account is suspended.",
          requestId: "req_test",
          details: null
        }
        await page.route("**/console/api/keys", (route) =>
          route.request().method() === "POST" ? route.fulfill({ status: 403, json: refusal }) : route.continue()
        )
        await page.getByRole("button", { name: "Create" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByLabel("Name", { exact: true }).fill("Development")
        await dialog.getByRole("button", { name: "Create the key" }).click()
        const code = dialog.getByRole("link", { name: "ACCOUNT_SUSPENDED" })
        assert.strictEqual(await code.getAttribute("href"), "/docs#ACCOUNT_SUSPENDED")
        // In another tab: what was typed stays.
        const [explained] = await Promise.all([page.context().waitForEvent("page"), code.click()])
        await explained.locator("#ACCOUNT_SUSPENDED").getByText("Next step.").waitFor()
        await page.keyboard.press("Escape")
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "API reference" }).click()
        await page.getByRole("heading", { level: 1, name: "Atoll API" }).waitFor()
      })
  )
})
