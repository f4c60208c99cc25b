/** Previews of a real Sandbox: opened in the console, visited from elsewhere, closed. */
import { assert, layer } from "@effect/vitest"
import { describe } from "vitest"
import {
  assertSound,
  served,
  servedVisit,
  unvisitable
} from "../../../../../support/console/pages/sandbox/servedVisit.ts"
import { skipped } from "../../../../../support/host/namespace/TestHost.ts"

const program = `require("http").createServer((_, answer) => answer.end("<title>inside</title>")).listen(3000)`

describe.skipIf(skipped(unvisitable))("previews in the console", () => {
  layer(served, { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect("show an address, lead others in, and end as soon as somebody closes them", () =>
      servedVisit(
        async ({ page, context, sandboxId, send }) => {
          const started = await send("POST", "/operations", { argv: ["/opt/atoll/node", "-e", program] })
          assert.strictEqual(started.status, 202, started.text)
          await page.goto(`/console/sandboxes/${sandboxId}/previews`)
          await page.getByText("There are no previews.").waitFor()
          await assertSound(page, "no preview")
          const open = page.getByRole("button", { name: "Open a preview" })
          const port = page.getByLabel("Port in the Sandbox")
          await port.fill("70000")
          await open.click()
          await page.getByText("A port is a number from 1 to 65535.").waitFor()
          await port.fill("3000")
          await open.click()
          const url = (await page.locator(".secret").textContent())!
          const state = (text: string) =>
            page.getByRole("row").filter({ hasText: "3000" }).getByText(text, { exact: true }).first()
          await state("active").waitFor()
          await assertSound(page, "an open preview")

          const link = page.getByRole("link", { name: "Open it in another tab" })
          assert.strictEqual(await link.getAttribute("href"), url)
          assert.strictEqual(await link.getAttribute("target"), "_blank")
          assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer")
          const stranger = await context.browser()!.newContext()
          const visitor = await stranger.newPage()
          await visitor.goto(url)
          await visitor.waitForFunction("document.title === 'inside'")

          const everywhere = async () =>
            (await page.content()) +
            JSON.stringify(await page.evaluate("[{ ...localStorage }, { ...sessionStorage }, location.href]"))
          assert.include(await everywhere(), url)
          await page.getByRole("button", { name: "Hide the address" }).click()
          const again = page.getByRole("button", { name: "Show address of port 3000" })
          await again.waitFor()
          await page.reload()
          await again.waitFor()
          assert.notInclude(await everywhere(), new URL(url).hostname.slice(0, 32))
          await again.click()
          assert.strictEqual(await page.locator(".secret").textContent(), url)
          await page.getByRole("button", { name: "Hide the address" }).click()

          // A second port beside it, which stays when the first one is closed.
          await port.fill("3002")
          await open.click()
          await page.getByRole("heading", { name: "Preview of port 3002" }).waitFor()
          await page.getByRole("button", { name: "Hide the address" }).click()

          await page.getByRole("button", { name: "Close the preview of port 3000" }).click()
          await state("closed").waitFor()
          assert.strictEqual((await visitor.goto(url))!.status(), 404)
          await stranger.close()
          await page.getByRole("button", { name: "Close the preview of port 3002" }).click()
          await page.getByText("active", { exact: true }).waitFor({ state: "detached" })

          // Somebody else closes it: the address goes with it.
          await port.fill("3000")
          await open.click()
          await page.locator(".secret").waitFor()
          assert.strictEqual((await send("DELETE", "/previews")).status, 204)
          await page.locator(".secret").waitFor({ state: "detached" })
          await open.waitFor()

          await send("POST", "/previews", { port: 3001 })
          await page.getByRole("button", { name: "Show address of port 3001" }).waitFor()
          await page.getByRole("button", { name: /^Stop / }).click()
          await page.getByText("Start it to open a preview.").waitFor()
          // They disappear one after the other, with the event that ended each.
          await open.waitFor({ state: "detached" })
          await page.getByText("active", { exact: true }).waitFor({ state: "detached" })
          await assertSound(page, "a stopped Sandbox")
          await page.getByRole("button", { name: "Start", exact: true }).click()
          await open.waitFor()

          await send("DELETE", "")
          for (const part of ["Previews", "Files"]) {
            await page.getByRole("link", { name: part }).click()
            await page.getByText("The Sandbox is deleted, with its volume.").waitFor()
            assert.strictEqual(await page.getByRole("alert").count(), 0)
          }
        },
        { networkEnabled: true }
      )
    )
  })
})
