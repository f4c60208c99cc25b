/** What stands at the top of a Sandbox's page, and its commands on a narrow screen, in a real Chromium. */
import { assert, layer } from "@effect/vitest"
import { noChromium } from "../../../../support/console/pages/TestBrowser.ts"
import { asOwner, atRest } from "../../../../support/console/pages/visits.ts"
import { TestApi } from "../../../../support/http/TestApi.ts"
import { untilFound } from "../../../../support/until.ts"

layer(TestApi.layer(), { excludeTestServices: true })("a Sandbox's page", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "has its facts in one line on every part and width, until they are unfolded",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const { profile } = (await api.send("GET", `/api/v2/sandboxes/${id}`)).json.sandbox
        const memory = `${profile.memoryBytes / 1024 ** 2} MiB`
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 844 })
          for (const part of ["", "/commands", "/cost"]) {
            await page.goto(`/console/sandboxes/${id}${part}`)
            const facts = page.getByRole("region", { name: "Facts" })
            await facts.waitFor()
            await atRest(page)
            assert.isAtMost((await facts.boundingBox())!.height, 66, `${part} at ${width}`)
            await facts.getByText(memory).waitFor()
            await facts.getByRole("button", { name: "Facts" }).click()
            await facts.getByText("Generation").waitFor()
          }
        }
      })
  )

  it.effect.skipIf(noChromium !== null)("shows the id of a Sandbox without a name once", () =>
    asOwner(async ({ page }, api) => {
      const id = await api.newSandbox(await api.newWorkspace())
      await page.goto("/console/")
      await page.getByRole("link", { name: id }).waitFor()
      const times = async () => (await page.locator("main").textContent())!.split(id).length - 1
      assert.strictEqual(await times(), 1)
      await page.getByRole("link", { name: id }).click()
      await page.getByRole("button", { name: "Facts" }).click()
      await page.getByText("Generation", { exact: true }).waitFor()
      assert.strictEqual(await page.getByText(id, { exact: true }).count(), 1)
    })
  )

  it.effect.skipIf(noChromium !== null)("lets the notice about the passphrase be put away", () =>
    asOwner(async ({ page }) => {
      const notice = page.getByText("This account has no passphrase yet")
      await notice.waitFor()
      await page.getByRole("button", { name: "Not now" }).click()
      await notice.waitFor({ state: "detached" })
      await page.reload()
      await page.getByRole("heading", { name: "Sandboxes", level: 1 }).waitFor()
      assert.strictEqual(await notice.count(), 0)
    })
  )

  it.effect.skipIf(noChromium !== null)("shows exit codes on a telephone, and how the output of a command grows", () =>
    asOwner(
      async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const path = `/api/v2/sandboxes/${id}`
        const headers = { "idempotency-key": "exit-code" }
        await api.send("POST", `${path}/operations`, { body: { argv: ["echo", "hello"] }, headers })
        await page.goto(`/console/sandboxes/${id}/commands`)
        const code = page
          .locator(".operations")
          .getByText(/exit code \d/)
          .first()
        await code.waitFor()
        const box = (await code.boundingBox())!
        assert.isAtMost(box.x + box.width, 390)
        // The service says that a command runs, and how much it has written by now.
        const [operation] = (await api.send("GET", `${path}/operations`)).json.operations
        let written = 0
        const writtenByNow = () => {
          written += 1024
          return written
        }
        const running = () => ({
          ...operation,
          status: "running",
          processTree: "running",
          exitCode: null,
          finishedAt: null,
          output: { ...operation.output, stdoutBytes: writtenByNow() }
        })
        await page.route(`**${path}/operations?*`, (route) =>
          route.fulfill({ json: { operations: [running()], nextCursor: null } })
        )
        await page.route(`**${path}/operations/${operation.id}`, (route) =>
          route.fulfill({ json: { operation: running() } })
        )
        await page.reload()
        await page.getByText(/KiB so far/).waitFor()
        const before = await page.getByText(/KiB so far/).textContent()
        await untilFound(async () => (await page.getByText(/KiB so far/).textContent()) !== before)
      },
      { viewport: { width: 390, height: 844 } }
    )
  )
})
