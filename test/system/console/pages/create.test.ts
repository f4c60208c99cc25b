/** The form that creates a Sandbox, in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import { focusOnceShown } from "../../../support/console/pages/focus.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asNewPerson, asOwner, heading } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

layer(TestApi.layer(), { excludeTestServices: true })("creating a Sandbox in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "asks a new person for nothing: two clicks from the empty list to an open Sandbox, also on a telephone",
    () =>
      asNewPerson(
        async ({ page }) => {
          await page.getByText("There are no Sandboxes yet.").waitFor()
          await page.getByRole("button", { name: "Create a Sandbox" }).click()
          const dialog = page.getByRole("dialog")
          const create = dialog.getByRole("button", { name: "Create" })
          const box = (await create.boundingBox())!
          assert.isAtMost(box.y + box.height, 844, "the button is above the fold")
          assert.isFalse(await dialog.getByLabel("Metadata").isVisible())
          await create.click()
          await page.getByRole("link", { name: "All Sandboxes" }).waitFor()
          assert.match(new URL(page.url()).pathname, /^\/console\/sandboxes\/sbx_/)
          await page.locator(".page-head .status").getByText("running").waitFor()
        },
        { viewport: { width: 390, height: 844 } }
      )
  )

  it.effect.skipIf(noChromium !== null)("shows every mistake at its field, all together, and goes to the first", () =>
    asOwner(async ({ page }, api) => {
      await page.goto(`/console/workspaces/${await api.newWorkspace()}`)
      await page.getByRole("button", { name: "Create", exact: true }).click()
      const dialog = page.getByRole("dialog")
      const more = dialog.getByText("More: network")
      await more.click()
      await dialog.getByLabel("Metadata").fill("=blue")
      await dialog.getByLabel("Stop when idle for").fill("soon")
      await dialog.getByLabel("Delete, with its volume, when stopped for").fill("never")
      // The fold opens again where a mistake is in it.
      await more.click()
      const focus = await focusOnceShown(page, "dialog .mistake", "[aria-invalid]")
      await dialog.getByRole("button", { name: "Create" }).click()
      assert.isTrue(await focus(), "the first mistake has the focus as it is shown")
      await dialog.getByText("“soon” is not a time such as 30 min, 8 h or 7 d.").waitFor()
      await dialog.getByText("“never” is not a time such as 30 min, 8 h or 7 d.").waitFor()
      await dialog.getByText("“=blue” is not of the form key=value.").waitFor()
      assert.strictEqual(await dialog.locator("[aria-invalid]").count(), 3)
      assert.strictEqual(await page.evaluate("document.activeElement.value"), "=blue")
      await dialog.getByLabel("Metadata").fill("")
      for (const label of ["Stop when idle for", "Delete, with its volume, when stopped for"]) {
        await dialog.getByLabel(label).fill("")
      }
      // A mistake that only the service finds stands at its field, too.
      await dialog.getByLabel("Variables").fill("1ST=value")
      await dialog.getByRole("button", { name: "Create" }).click()
      await dialog
        .locator(".field", { has: page.getByLabel("Variables") })
        .locator(".mistake")
        .waitFor()
      await dialog.getByLabel("Variables").fill("FIRST=value")
      await dialog.getByRole("button", { name: "Create" }).click()
      await dialog.waitFor({ state: "detached" })
      await page.getByRole("link", { name: "All Sandboxes" }).waitFor()
    })
  )

  it.effect.skipIf(noChromium !== null)("ends in a list with one row a Sandbox, whole on a telephone", () =>
    asOwner(
      async ({ page }, api) => {
        await api.newSandbox(await api.newWorkspace())
        await page.goto("/console/")
        await heading(page, "Sandboxes").waitFor()
        const row = page.locator(".windowed-body .row").first()
        await row.waitFor()
        const box = (await row.boundingBox())!
        assert.isAtMost(box.x + box.width, 390)
        for (const part of [row.locator("a"), row.locator(".status"), row.getByRole("button", { name: /^Delete/ })]) {
          const shown = (await part.boundingBox())!
          assert.isAtMost(shown.x + shown.width, 390)
        }
      },
      { viewport: { width: 390, height: 844 } }
    )
  )

  it.effect.skipIf(noChromium !== null)("pages that list much scroll in a frame: none is four screens high", () =>
    asOwner(async ({ page }, api) => {
      const workspace = await api.newWorkspace()
      for (let made = 0; made < 30; made++) await api.send("GET", `/api/v2/workspaces/${workspace}`)
      for (const path of ["/machines", "/machines/wallet", "/audit"]) {
        await page.goto(`/console${path}`)
        await page.locator("table").first().waitFor()
        assert.isAtMost(Number(await page.evaluate("document.documentElement.scrollHeight")), 4 * 900, path)
      }
    })
  )
})
