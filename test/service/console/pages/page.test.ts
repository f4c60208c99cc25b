/** Own process: it starts a browser. One visit; test/system/console/pages has the others. */
import { assert, layer } from "@effect/vitest"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, createSandbox } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

layer(TestApi.layer(), { excludeTestServices: true })("the console in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)("shows a Sandbox that its owner creates, until it runs", () =>
    asOwner(async ({ page }) => {
      await createSandbox(page, "seen", "first")
      const row = page.getByRole("row").filter({ hasText: "seen" })
      await row.getByText("running").waitFor()
      assert.strictEqual(await row.count(), 1)
    })
  )
})
