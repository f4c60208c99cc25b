/** Images in the console, in a real Chromium. */
import { randomUUID } from "node:crypto"
import { gzipSync } from "node:zlib"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { publicText } from "../../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../../src/runtime/Runtime.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, atRest, goTo, heading, tooWide } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilSeen } from "../../../support/until.ts"

const heading2 = (page: Page, name: string) => page.getByRole("heading", { name, level: 2, exact: true })

const archive = (buffer: Buffer, name = "image.tar") => ({ name, mimeType: "application/x-tar", buffer })

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
        await heading2(page, "Build of tools").waitFor()
        await page.locator('[data-output="whole"] [data-stream="stdout"]').getByText("STEP 2/2: RUN true").waitFor()
        await atRest(page)
        assert.deepStrictEqual(await violations(page), [], "the page with output")
        const turn = row.getByRole("button", { name: "Output of tools" })
        assert.strictEqual(await turn.getAttribute("aria-expanded"), "true")
        await turn.click()
        await heading2(page, "Build of tools").waitFor({ state: "detached" })
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
        await heading2(page, "Build of wrong").waitFor()
        await page.locator('[data-stream="stdout"]').getByText("RUN exit 3").waitFor()
        await page.getByRole("link", { name: "Details" }).click()
        await page.getByText("exit code 3").first().waitFor()
        await page.locator('[data-stream="stdout"]').getByText("RUN exit 3").waitFor()
      })
  )
})

layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), {
  excludeTestServices: true
})("archives in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)("become images; the upload shows its progress, and a refusal its reason", () =>
    asOwner(async ({ page }, api) => {
      await api.newWorkspace()
      const gate = Promise.withResolvers<void>()
      api.world.intercept = (call) => (call === "receiveImage" ? Effect.promise(() => gate.promise) : Effect.void)
      await page.goto("/console/images")
      const open = page.getByRole("button", { name: "Upload an archive" })
      await open.click()
      const dialog = page.getByRole("dialog")
      assert.deepStrictEqual(await violations(page), [], "the dialog")
      await dialog.getByRole("button", { name: "Upload" }).click()
      assert.strictEqual(await dialog.locator("input:invalid").count(), 1, "an empty form is not sent")
      await dialog.getByLabel("Archive").setInputFiles(archive(gzipSync("an image")))
      await dialog.getByRole("button", { name: "Upload" }).click()
      await dialog.getByText("Unpack it first").waitFor()

      await dialog.getByLabel("Archive").setInputFiles(archive(Buffer.alloc(12 * 1024 ** 2, "x")))
      await dialog.getByLabel("Name").fill("tools")
      await dialog.getByRole("button", { name: "Upload" }).click()
      await dialog.getByRole("progressbar", { name: "Sent" }).waitFor()
      await dialog.getByText(/ of 12 MiB/).waitFor()
      await dialog.getByRole("button", { name: "Uploading" }).waitFor()
      assert.deepStrictEqual(await violations(page), [], "the dialog while it sends")
      await page.setViewportSize({ width: 360, height: 700 })
      assert.isAtMost(await tooWide(page), 0, "wider than a narrow screen")
      await page.setViewportSize({ width: 1400, height: 900 })
      gate.resolve()
      const row = page.locator("[data-image]")
      await row.filter({ hasText: "tools" }).locator('[data-status="ready"]').waitFor()
      assert.strictEqual(await dialog.count(), 0)
      const [image] = (await api.send("GET", "/api/v2/images?name=tools")).json.images
      assert.deepInclude(image, { reference: null, build: null })

      await open.click()
      await dialog.getByLabel("Archive").setInputFiles(archive(Buffer.alloc(5 * 1024 ** 2, "x")))
      api.world.intercept = (call) =>
        call === "receiveImage"
          ? Effect.fail(new RuntimeRefused({ code: "IMAGE_TOO_LARGE", message: publicText`It is too large.` }))
          : Effect.void
      await dialog.getByRole("button", { name: "Upload" }).click()
      await dialog.getByText("PAYLOAD_TOO_LARGE").waitFor()
      assert.strictEqual(await dialog.getByRole("progressbar").count(), 0)
      await dialog.getByRole("button", { name: "Cancel" }).click()
      assert.strictEqual(await row.count(), 1)
    })
  )

  it.effect.skipIf(noChromium !== null)("break off when their form is closed, and leave nothing", () =>
    asOwner(async ({ page }, api) => {
      const begun = Promise.withResolvers<void>()
      const gate = Promise.withResolvers<void>()
      api.world.intercept = (call) => {
        if (call !== "receiveImage") return Effect.void
        begun.resolve()
        return Effect.promise(() => gate.promise)
      }
      const before = [...api.world.uploads.keys()]
      await page.goto("/console/images")
      await page.getByRole("button", { name: "Upload an archive" }).click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Archive").setInputFiles(archive(Buffer.alloc(12 * 1024 ** 2, "y")))
      await dialog.getByLabel("Name").fill("broken off")
      await dialog.getByRole("button", { name: "Upload" }).click()
      await begun.promise
      await page.keyboard.press("Escape")
      await dialog.waitFor({ state: "detached" })
      gate.resolve()
      api.world.intercept = () => Effect.void
      await page.getByRole("button", { name: "Upload an archive" }).click()
      await dialog.getByLabel("Archive").setInputFiles(archive(Buffer.from("whole")))
      await dialog.getByLabel("Name").fill("whole")
      await dialog.getByRole("button", { name: "Upload" }).click()
      await page.locator("[data-image]").filter({ hasText: "whole" }).locator('[data-status="ready"]').waitFor()
      const { images } = (await api.send("GET", "/api/v2/images?name=broken%20off")).json
      assert.deepStrictEqual(images, [])
      assert.lengthOf(
        [...api.world.uploads.keys()].filter((id) => !before.includes(id)),
        1
      )
    })
  )

  it.effect.skipIf(noChromium !== null)("with a Dockerfile are built, and the page shows the output meanwhile", () =>
    asOwner(async ({ page }, api) => {
      await page.goto("/console/images")
      const open = page.getByRole("button", { name: "Build from a Dockerfile" })
      await open.click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("Source").selectOption("archive")
      assert.deepStrictEqual(await violations(page), [], "the dialog")
      await dialog.getByLabel("Archive").setInputFiles(archive(gzipSync("a context"), "context.tgz"))
      await dialog.getByLabel("Name").fill("packed")
      await dialog.getByLabel("Path of the Dockerfile").fill("../Dockerfile")
      await dialog.getByLabel("Target").fill("last")
      await dialog.getByLabel("Build arguments").fill("VERSION=a&b=c\nKIND=small")
      await dialog.getByRole("button", { name: "Build" }).click()
      await dialog.locator('.mistake:has-text("without empty")').waitFor()
      await dialog.getByLabel("Path of the Dockerfile").fill("sub/Dockerfile")
      await dialog.getByRole("button", { name: "Build" }).click()
      await page.locator("[data-image]").filter({ hasText: "packed" }).locator('[data-status="ready"]').waitFor()
      const [packed] = (await api.send("GET", "/api/v2/images?name=packed")).json.images
      assert.deepInclude(packed.build, { dockerfile: "sub/Dockerfile", target: "last" })
      const path = `/api/v2/sandboxes/${packed.build.sandboxId}/operations/${packed.build.operationId}`
      const { operation } = (await api.send("GET", path)).json
      assert.includeMembers(operation.argv, ["VERSION=a&b=c", "KIND=small"])

      await open.click()
      await dialog.getByLabel("Name").fill("endless")
      await dialog.getByLabel("Dockerfile", { exact: true }).fill("FROM scratch\nRUN hang")
      await dialog.getByRole("button", { name: "Build" }).click()
      await heading2(page, "Build of endless").waitFor()
      await page.locator('[data-output="open"] [data-stream="stdout"]').getByText("STEP 2/2: RUN hang").waitFor()
      await page.getByText("Live", { exact: true }).waitFor()
      await page.locator("[data-image]").filter({ hasText: "endless" }).locator('[data-status="building"]').waitFor()
      assert.deepStrictEqual(await violations(page), [], "the page with live output")
      await page.getByRole("button", { name: "Hide" }).click()
      await page.getByRole("button", { name: "Delete endless" }).click()
      await dialog.getByRole("button", { name: "Delete" }).click()
      await page.locator("[data-image]").filter({ hasText: "endless" }).waitFor({ state: "detached" })
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
