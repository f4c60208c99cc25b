/** Images in the console, in a real Chromium. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { violations } from "../../../support/console/pages/axe.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, atRest, goTo, heading, tooWide } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilSeen } from "../../../support/until.ts"

const key = () => ({ "idempotency-key": randomUUID() })

layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), { excludeTestServices: true })("images in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)("are pulled, chosen for a Sandbox, kept while it has them, and deleted", () =>
    asOwner(async ({ page }, api) => {
      await api.newWorkspace()
      await page.goto("/console/images")
      await page.getByText("There are no images.").waitFor()
      await page.getByRole("button", { name: "Pull an image" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Reference").fill("alpine")
      assert.deepStrictEqual(await violations(page), [], "the dialog")
      await dialog.getByRole("button", { name: "Pull" }).click()
      await dialog.getByText("with the registry's host").waitFor()
      await dialog.getByLabel("Reference").fill("registry.test/tools:1")
      await dialog.getByLabel("Name").fill("tools")
      await dialog.getByRole("button", { name: "Pull" }).click()
      const row = page.locator("[data-image]").filter({ hasText: "tools" })
      await row.locator('[data-status="ready"]').waitFor()
      await atRest(page)
      assert.deepStrictEqual(await violations(page), [], "the page")
      const size = page.viewportSize()!
      await page.setViewportSize({ width: 360, height: 700 })
      assert.isAtMost(await tooWide(page), 0, "wider than a narrow screen")
      await page.setViewportSize(size)

      await goTo(page, "Sandboxes")
      await page.getByRole("button", { name: "Create a Sandbox" }).click()
      await dialog.getByLabel("Name", { exact: true }).fill("rooted")
      await dialog.getByText("More: network").click()
      await dialog.getByLabel("Image").selectOption({ label: "tools" })
      await dialog.getByRole("button", { name: "Create" }).click()
      await heading(page, "rooted").waitFor()
      const { sandboxes } = (await api.send("GET", "/api/v2/sandboxes")).json
      assert.match(sandboxes[0].imageId, /^img_/)

      await goTo(page, "Images")
      await page.getByRole("button", { name: "Delete tools" }).click()
      await dialog.getByRole("button", { name: "Delete" }).click()
      await dialog.getByText("still need the image").waitFor()
      assert.strictEqual((await api.send("DELETE", `/api/v2/sandboxes/${sandboxes[0].id}`)).status, 204)
      await dialog.getByRole("button", { name: "Delete" }).click()
      await row.waitFor({ state: "detached" })
    })
  )
})

const described = "images of Dockerfiles in a browser"

layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), { excludeTestServices: true })(described, (it) => {
  it.effect.skipIf(noChromium !== null)(
    "are built, with links to their Sandbox and output; a failed build says why",
    () =>
      asOwner(async ({ page }, api) => {
        const workspaceId = await api.newWorkspace()
        const gate = Promise.withResolvers<void>()
        api.world.intercept = (call) => (call === "receiveImage" ? Effect.promise(() => gate.promise) : Effect.void)
        const { sandbox } = (await api.send("POST", "/api/v2/sandboxes", { body: { workspaceId }, headers: key() }))
          .json
        await untilSeen(
          () => api.send("GET", `/api/v2/sandboxes/${sandbox.id}`),
          ({ json }) => json.sandbox.status === "running"
        )
        const taken = { body: { name: "the sources" }, headers: key() }
        const { snapshot } = (await api.send("POST", `/api/v2/sandboxes/${sandbox.id}/snapshots`, taken)).json
        await untilSeen(
          () => api.send("GET", `/api/v2/snapshots/${snapshot.id}`),
          ({ json }) => json.snapshot.status === "ready"
        )
        await page.goto("/console/images")
        await page.getByRole("button", { name: "Build from a Dockerfile" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByLabel("Name").fill("tools")
        await dialog.getByLabel("Dockerfile").fill("FROM scratch\nRUN true")
        await dialog.getByLabel("Context").selectOption({ label: "the sources" })
        await dialog.getByLabel("Target").fill("last")
        await dialog.getByLabel("Build arguments").fill("VERSION")
        await dialog.getByRole("button", { name: "Build" }).click()
        await dialog.getByText("write VERSION=value").waitFor()
        assert.deepStrictEqual(await violations(page), [], "the dialog")
        await dialog.getByLabel("Build arguments").fill("VERSION=a=b\nKIND=small")
        await dialog.getByRole("button", { name: "Build" }).click()
        const row = page.locator("[data-image]").filter({ hasText: "tools" })
        await row.locator('[data-status="building"]').waitFor()
        await row.getByRole("link", { name: "Output" }).waitFor()
        await atRest(page)
        const [image] = (await api.send("GET", "/api/v2/images?name=tools")).json.images
        assert.strictEqual(image.build.target, "last")
        const of = `/sandboxes/${image.build.sandboxId}`
        assert.strictEqual(await row.getByRole("link", { name: "Sandbox" }).getAttribute("href"), `/console${of}`)
        const { operation } = (await api.send("GET", `/api/v2${of}/operations/${image.build.operationId}`)).json
        assert.includeMembers(operation.argv, ["VERSION=a=b", "KIND=small"])
        gate.resolve()
        await row.locator('[data-status="ready"]').waitFor()
        api.world.intercept = () => Effect.void

        await page.getByRole("button", { name: "Build from a Dockerfile" }).click()
        await dialog.getByLabel("Name").fill("wrong")
        await dialog.getByLabel("Dockerfile").fill("RUN exit 3")
        await dialog.getByRole("button", { name: "Build" }).click()
        const wrong = page.locator("[data-image]").filter({ hasText: "wrong" })
        await wrong.getByText("The build ended with exit code 3; its output tells why.").waitFor()
        await wrong.getByRole("link", { name: "Output" }).click()
        await page.locator('[data-stream="stdout"]').getByText("RUN exit 3").waitFor()
      })
  )
})

layer(TestApi.layer({ ATOLL_IMAGES: "base=registry.test/base:1" }), { excludeTestServices: true })(
  "an image of the operator in a browser",
  (it) => {
    it.effect.skipIf(noChromium !== null)("is listed and chosen as the account's own, and cannot be deleted", () =>
      asOwner(async ({ page }, api) => {
        await api.newWorkspace()
        await page.goto("/console/images")
        const row = page.locator("[data-image]").filter({ hasText: "base" })
        await row.locator('[data-status="ready"]').waitFor()
        await row.getByText("of the operator").waitFor()
        assert.strictEqual(await row.getByRole("button").count(), 0)
        await atRest(page)
        assert.deepStrictEqual(await violations(page), [], "the page")
        await goTo(page, "Sandboxes")
        await page.getByRole("button", { name: "Create a Sandbox" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByText("More: network").click()
        await dialog.getByLabel("Image").selectOption({ label: "base" })
      })
    )
  }
)
