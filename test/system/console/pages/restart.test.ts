/** A page that stays open while the service is stopped, or killed, and started again: it goes on by itself, and what it shows is what is stored. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { SignInLinks } from "../../../../src/console/server/SignInLinks.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { clean, signInByLink } from "../../../support/console/pages/visits.ts"
import { ServiceProcess } from "../../../support/crash/ServiceProcess.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { untilFound } from "../../../support/until.ts"

const environment = { ATOLL_RUNTIME: "simulated", ATOLL_RECONCILE_INTERVAL_MS: "500" }

/** Its Sandboxes are lost with each process: the simulated host is that process. */
const service = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const made = await ServiceProcess.make({ DATABASE_URL: url, ...environment })
      await made.start()
      return made
    }),
    (made) =>
      Effect.promise(async () => {
        await made.kill()
        made.remove()
      })
  )

const live = (page: Page) => page.getByText("Live", { exact: true }).waitFor()

layer(TestDatabase.layer, { excludeTestServices: true })("a page over a restart of the service", (it) => {
  it.effect.skipIf(noChromium !== null)("goes on live, without a load of its own, and loses nothing", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const atoll = yield* service((yield* TestDatabase).url)
        const me = yield* Effect.promise(() => atoll.ask("GET", "/me"))
        const { code } = yield* (yield* SignInLinks).create(me.body.account.id)
        const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${atoll.port}`, { reducedMotion: "reduce" })
        yield* Effect.promise(async () => {
          const { page: list, context } = visit
          await signInByLink(list, code)
          const { workspace } = (await atoll.ask("POST", "/workspaces", { name: "w" }, "w")).body
          const create = async (name: string) =>
            (await atoll.ask("POST", "/sandboxes", { workspaceId: workspace.id, name }, name)).body.sandbox.id as string
          const id = await create("first")
          const row = (name: string) => list.getByRole("row").filter({ hasText: name })
          await row("first").getByText("running").waitFor()
          const page = await context.newPage()
          await page.goto(`/console/sandboxes/${id}`)
          await page.locator(".state.current[data-state=running]").waitFor()
          for (const one of [list, page]) await one.evaluate("window.loadedOnce = true")

          const revision = async () => {
            const { transitions } = (await atoll.ask("GET", `/sandboxes/${id}/transitions?limit=1000`)).body
            return transitions.length as number
          }
          /** The list, the Sandbox's statechart and its log show what is stored, whatever was told or missed. */
          const agrees = async () => {
            for (const one of [list, page]) await live(one)
            await untilFound(async () => {
              const { status } = (await atoll.ask("GET", `/sandboxes/${id}`)).body.sandbox
              const stored = await revision()
              return (
                (await page.locator(`.state.current[data-state=${status}]`).count()) === 1 &&
                (await page.locator(`[data-revision="${stored}"][data-newest="${stored}"]`).count()) === 1 &&
                (await page.getByText(`equals what the service stores at revision ${stored}`).count()) === 1 &&
                (await row("first").getByText(status, { exact: true }).count()) === 1
              )
            })
          }

          await atoll.stop()
          for (const one of [list, page]) await one.getByText("Not live").waitFor()
          await atoll.start()
          await agrees()

          // Killed in the middle of what it was asked to do.
          const asked = [
            atoll.ask("POST", `/sandboxes/${id}/start`, {}, "again"),
            atoll.ask("POST", "/sandboxes", { workspaceId: workspace.id, name: "second" }, "second")
          ].map((answer) => answer.catch(() => null))
          await untilFound(async () => (await revision()) > 4)
          await atoll.kill()
          await Promise.all(asked)
          await atoll.start()
          await agrees()
          const listed = (await atoll.ask("GET", "/sandboxes")).body.sandboxes as ReadonlyArray<{ name: string }>
          for (const { name } of listed) await row(name).waitFor()
          await create("third")
          await row("third").getByText("running").waitFor()
          for (const one of [list, page]) assert.isTrue(await one.evaluate("window.loadedOnce"))
          clean(visit)
        })
      }).pipe(Effect.provide(SignInLinks.layer))
    )
  )
})
