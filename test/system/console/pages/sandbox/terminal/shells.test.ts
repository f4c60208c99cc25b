/** Several shells, their prompt, and what becomes of one when the service is started again, in a real Chromium. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { SignInLinks } from "../../../../../../src/console/server/SignInLinks.ts"
import { violations } from "../../../../../support/console/pages/axe.ts"
import { served, servedVisit, unvisitable } from "../../../../../support/console/pages/sandbox/servedVisit.ts"
import { testBrowser } from "../../../../../support/console/pages/TestBrowser.ts"
import { clean, signInByLink } from "../../../../../support/console/pages/visits.ts"
import { ServiceProcess } from "../../../../../support/crash/ServiceProcess.ts"
import { skipped } from "../../../../../support/host/namespace/TestHost.ts"
import { TestDatabase } from "../../../../../support/TestDatabase.ts"
import { untilFound } from "../../../../../support/until.ts"

/** On the screen that is shown. */
const shows = (page: Page, text: string) =>
  page.locator(".shell-pane:not([hidden]) .xterm-rows > div").filter({ hasText: text }).first().waitFor()

const type = async (page: Page, line: string) => {
  await page.locator(".shell-pane:not([hidden])").getByLabel("Terminal input").focus()
  await page.keyboard.insertText(line)
  await page.keyboard.press("Enter")
}

const height = (page: Page, selector: string) =>
  page.evaluate(`document.querySelector("${selector}").getBoundingClientRect().height`) as Promise<number>

describe.skipIf(skipped(unvisitable))("shells in a browser", () => {
  layer(served, { excludeTestServices: true })((it) => {
    it.effect("have a prompt with the directory in colours, tabs, the window's height, and a full screen", () =>
      servedVisit(async ({ page, sandboxId: id }) => {
        await page.setViewportSize({ width: 1280, height: 860 })
        await page.goto(`/console/sandboxes/${id}/terminal`)
        await page.getByRole("button", { name: "Not now" }).click()
        await shows(page, "~ $")
        await type(page, "mkdir -p deep/down && cd deep/down")
        await shows(page, "~/deep/down $")
        const prompt = page.locator(".xterm-rows span[class*=xterm-fg]", { hasText: "~/deep/down" })
        await prompt.first().waitFor()
        assert.isAtLeast(await height(page, ".terminal-screen"), 400)
        assert.isAtMost(Number(await page.evaluate("document.documentElement.scrollHeight")), 860)
        await page.getByRole("button", { name: "Full screen" }).click()
        await untilFound(async () => (await height(page, ".terminal-screen")) > 650)
        await page.getByRole("button", { name: "Leave full screen" }).click()

        await page.getByRole("button", { name: "New shell" }).click()
        await shows(page, "~ $")
        await type(page, "echo sec''ond")
        await shows(page, "second")
        assert.deepStrictEqual(await violations(page), [])
        await page.getByRole("button", { name: "Shell 1", exact: true }).click()
        await shows(page, "~/deep/down $")
        await page.getByRole("button", { name: "Close shell 1" }).click()
        await shows(page, "second")
        assert.strictEqual(await page.locator(".shell-tab").count(), 0)
      })
    )
  })

  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.effect("come back by themselves after a restart of the service, and say that they are new", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { url } = yield* TestDatabase
          const atoll = yield* Effect.acquireRelease(
            Effect.promise(async () => {
              const made = await ServiceProcess.make({ DATABASE_URL: url })
              await made.start()
              return made
            }),
            (made) =>
              Effect.promise(async () => {
                await made.stop()
                made.remove()
              })
          )
          const me = yield* Effect.promise(() => atoll.ask("GET", "/me"))
          const { code } = yield* (yield* SignInLinks).create(me.body.account.id)
          const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${atoll.port}`, { reducedMotion: "reduce" })
          yield* Effect.promise(async () => {
            const { page } = visit
            await signInByLink(page, code)
            const { workspace } = (await atoll.ask("POST", "/workspaces", { name: "w" }, "w")).body
            const asked = { workspaceId: workspace.id, networkEnabled: false }
            const { sandbox } = (await atoll.ask("POST", "/sandboxes?wait=running", asked, "s")).body
            await page.goto(`/console/sandboxes/${sandbox.id}/terminal`)
            await shows(page, "~ $")
            await type(page, "echo be''fore")
            await shows(page, "before")
            await atoll.stop()
            await page.locator("[data-shell=lost]").waitFor()
            await atoll.start()
            await page.locator("[data-shell=open]").waitFor()
            await shows(page, "This is a new shell.")
            await page.getByText("Connected to a new shell").waitFor()
            // What the earlier one wrote is still there.
            await shows(page, "before")
            await type(page, "echo af''ter")
            await shows(page, "after")
            await atoll.ask("DELETE", `/sandboxes/${sandbox.id}`)
            clean(visit)
          })
        })
      ).pipe(Effect.provide(SignInLinks.layer))
    )
  })
})
