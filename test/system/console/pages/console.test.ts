/** The console in a real Chromium, as people use it. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SignInLinks } from "../../../../src/console/server/SignInLinks.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { dialogFaults, dialogsInSource } from "../../../support/console/pages/dialogs.ts"
import { focusOnceShown } from "../../../support/console/pages/focus.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import {
  asNewPerson,
  createKey,
  createSandbox,
  goTo,
  heading,
  passphrase,
  signIn,
  signInByLink,
  tooWide
} from "../../../support/console/pages/visits.ts"
import { Work } from "../../../support/console/pages/Work.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

if (noChromium !== null) console.warn(`The console is not tried in a browser: ${noChromium}.`)

const names = ["Sandboxes", "Workspaces", "Keys", "Usage", "Audit", "Account"]

layer(TestApi.layer(), { excludeTestServices: true })("the console in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "leads from an invitation to the first Sandbox, whose hostile name is only shown",
    () =>
      asNewPerson(async ({ page }) => {
        assert.strictEqual(new URL(page.url()).hash, "", "the invitation's code is out of the address")
        const hostile = `<script>document.title = "owned"</script><img src=x onerror=alert(1)>`
        await createSandbox(page, hostile, "research")
        const row = page.getByRole("row").filter({ hasText: hostile })
        await row.getByText("running").waitFor()
        assert.strictEqual(await page.locator("img, script:not([type=module])").count(), 0)
        assert.match(await page.title(), /^Sandboxes/)

        await row.getByRole("button", { name: "Stop" }).click()
        await row.getByText("stopped").waitFor()
        await row.getByRole("button", { name: "Start" }).click()
        await row.getByText("running").waitFor()
        await page.getByLabel("Search").fill("team=<b>blue</b>")
        assert.strictEqual(await row.count(), 1)
        await page.getByLabel("Search").fill("team=red")
        await page.getByText("No Sandbox matches").waitFor()
        await page.getByLabel("Search").fill("")
        await row.getByRole("button", { name: "Delete" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
        await page.getByText("All Sandboxes are deleted.").waitFor()
        await page.getByRole("button", { name: "Create a Sandbox" }).click()
        await page.keyboard.press("Escape")
        await page.getByLabel("Status").selectOption("deleted")
        assert.strictEqual(await row.count(), 1)
      })
  )

  it.effect.skipIf(noChromium !== null)("has no fault that axe-core finds, on any page, light, dark or narrow", () =>
    asNewPerson(async ({ page, context }) => {
      await createSandbox(page, "first", "research")
      const found: Array<string> = []
      const look = async (where: string) => found.push(...(await violations(page)).map((text) => `${where}: ${text}`))
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
        for (const name of names) {
          await goTo(page, name)
          await look(`${name}, ${colorScheme}`)
        }
      }
      await page.setViewportSize({ width: 360, height: 700 })
      for (const name of names) {
        await goTo(page, name)
        await look(`${name}, narrow`)
        assert.isAtMost(await tooWide(page), 0, `${name} is wider than a narrow screen`)
      }
      await context.clearCookies()
      await page.reload()
      await heading(page, "Sign in").waitFor()
      await look("sign-in")
      assert.deepStrictEqual(found, [])
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "has no fault that axe-core finds in any dialog, light and wide, dark and narrow",
    () =>
      asNewPerson(async ({ page }) => {
        await createSandbox(page, "first", "research")
        await page.getByRole("row").getByText("running").waitFor()
        // The simulated machine has no files.
        const entry = {
          name: "a.txt",
          type: "file",
          sizeBytes: 1,
          mode: "0644",
          modifiedAt: "2026-01-31T12:00:00.000Z"
        }
        await page.route(/\/api\/v2\/.*\/files/, (route) =>
          route.fulfill({ json: { path: "/workspace", entries: [entry], nextCursor: null } })
        )
        const found: Array<string> = []
        const dialog = page.getByRole("dialog")
        const look = async (where: string) =>
          found.push(...(await dialogFaults(page)).map((text) => `${where}, ${text}`))
        let dialogs = 0
        /** Opened by a button, and left by Escape. */
        const open = async (name: string) => {
          await page.getByRole("button", { name, exact: true }).click()
          await look(name)
          await page.keyboard.press("Escape")
          await dialog.waitFor({ state: "detached" })
          dialogs++
        }
        await open("Create")
        await open("Delete first")
        await page.getByRole("link", { name: "first" }).click()
        await open("Change this Sandbox")
        await page.getByRole("link", { name: "Files" }).click()
        await open("Rename a.txt")
        await open("Remove a.txt")
        await open("New file")
        await page.getByRole("button", { name: "New folder" }).click()
        await look("New folder")
        await page.keyboard.press("Escape")
        await page.getByRole("main").getByRole("link", { name: "Snapshots" }).click()
        await open("Fork")
        await open("Take a snapshot")
        await page.getByRole("button", { name: "Take a snapshot" }).click()
        await dialog.getByLabel("Name").fill("kept")
        await dialog.getByRole("button", { name: "Take" }).click()
        await dialog.waitFor({ state: "detached" })
        await open("New Sandbox from kept")
        await open("Roll back to kept")
        await open("Delete kept")
        await goTo(page, "Images")
        await open("Pull an image")
        await page.getByRole("button", { name: "Pull an image" }).click()
        await dialog.getByLabel("Reference").fill("registry.test/tools:1")
        await dialog.getByLabel("Name").fill("tools")
        await dialog.getByRole("button", { name: "Pull" }).click()
        await dialog.waitFor({ state: "detached" })
        await open("Delete tools")
        await open("Build from a Dockerfile")
        await open("Upload an archive")
        await goTo(page, "Workspaces")
        await open("Create")
        await open("Rename research")
        await open("Delete research")
        await goTo(page, "Keys")
        await open("Create")
        await page.getByRole("button", { name: "Create" }).click()
        await page.getByLabel("Name", { exact: true }).fill("CI")
        await page.getByRole("button", { name: "Create the key" }).click()
        await page.getByText("shown now and never again").waitFor()
        await look("secret")
        dialogs++
        await page.getByRole("button", { name: "I have saved it" }).click()
        await open("Revoke CI")
        await open("Rotate CI")
        assert.deepStrictEqual(found, [])
        assert.strictEqual(dialogs, await dialogsInSource("others"), "every dialog of the console was looked at")
      })
  )

  it.effect.skipIf(noChromium !== null)("lets each pane fail alone, in the service's words, and be asked again", () =>
    asNewPerson(async ({ page }) => {
      const requestId = "req_of_the_failure"
      const body = { code: "SERVICE_UNAVAILABLE", message: "The database rests.", requestId, details: null }
      await page.route("**/api/v2/usage/balance", (route) => route.fulfill({ status: 503, json: body }))
      await goTo(page, "Usage")
      const fault = page.getByRole("alert")
      await fault.getByText("The database rests.").waitFor()
      assert.include((await fault.textContent())!, requestId)
      await page.getByText("Sandbox running time").waitFor()
      await page.unroute("**/api/v2/usage/balance")
      await fault.getByRole("button", { name: "Try again" }).click()
      await page.getByText("Credit runs out").waitFor()
      assert.strictEqual(await fault.count(), 0)
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "says so when its session was ended elsewhere, and lets one sign in again",
    () =>
      asNewPerson(async ({ page, email, origin }) => {
        const other = await page.context().browser()!.newContext({ baseURL: origin })
        const second = await other.newPage()
        await second.goto("/console/")
        await signIn(second, email)
        await heading(second, "Sandboxes").waitFor()
        await goTo(second, "Account")
        await second.getByRole("button", { name: "Sign out everywhere" }).click()
        await heading(second, "Sign in").waitFor()
        await page.getByRole("navigation").getByRole("link", { name: "Keys" }).click()
        await page.getByText("Your session has ended").waitFor()
        await signIn(page, email)
        await heading(page, "Keys").waitFor()
        await other.close()
      })
  )

  it.effect.skipIf(noChromium !== null)("shows by itself what others do, and what they did while it was cut off", () =>
    asNewPerson(async ({ page, context, origin }) => {
      await createSandbox(page, "first", "research")
      const secret = await createKey(page, "CI")
      const call = async (method: string, path: string, body?: object) => {
        const headers = {
          authorization: `Bearer ${secret}`,
          "idempotency-key": `${method} ${path} ${JSON.stringify(body)}`,
          ...(body === undefined ? {} : { "content-type": "application/json" })
        }
        const answer = await fetch(`${origin}/api/v2${path}`, {
          method,
          headers,
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
        return answer.json()
      }
      await goTo(page, "Sandboxes")
      await page.getByText("Live", { exact: true }).waitFor()
      const { workspaces } = (await call("GET", "/workspaces")) as { workspaces: ReadonlyArray<{ id: string }> }
      const create = async (name: string) => {
        const made = await call("POST", "/sandboxes", { workspaceId: workspaces[0]!.id, name })
        return (made as { sandbox: { id: string } }).sandbox.id
      }
      const id = await create("by a program")
      const row = page.getByRole("row").filter({ hasText: "by a program" })
      await row.getByText("running").waitFor()
      await call("POST", `/sandboxes/${id}/stop`)
      await row.getByText("stopped").waitFor()

      await context.setOffline(true)
      await page.getByText("Not live").waitFor()
      await create("meanwhile")
      await context.setOffline(false)
      await page.getByRole("row").filter({ hasText: "meanwhile" }).getByText("running").waitFor()
      await page.getByText("Live", { exact: true }).waitFor()
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "lights the state that is stored in a Sandbox's statechart, as it changes",
    () =>
      asNewPerson(async ({ page }) => {
        await createSandbox(page, "first", "research")
        await page.getByRole("link", { name: "first" }).click()
        await heading(page, "first").waitFor()
        const lit = (state: string) => page.locator(`.state.current[data-state="${state}"]`).waitFor()
        await lit("running")
        assert.strictEqual(await page.locator('.edge.taken[data-line="pending>running"]').count(), 1)
        assert.deepStrictEqual(await violations(page), [])
        await page.getByRole("button", { name: "Stop first" }).click()
        await lit("stopped")
        await page.getByRole("heading", { name: "stopping → stopped" }).waitFor()
        assert.strictEqual(await page.locator(".state.current").count(), 1)
        await page.reload()
        await lit("stopped")
      })
  )

  it.effect.skipIf(noChromium !== null)("signs in by a link, sets a passphrase, and signs in with that", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { port, accountId } = yield* TestApi
        const { code } = yield* Effect.flatMap(SignInLinks, (links) => links.create(accountId)).pipe(
          Effect.provide(SignInLinks.layer)
        )
        const { open } = yield* testBrowser
        const { page, complaints } = yield* open(`http://127.0.0.1:${port}`)
        yield* Effect.promise(async () => {
          await signInByLink(page, code)
          assert.strictEqual(new URL(page.url()).hash, "")
          await page.getByRole("link", { name: "Set an e-mail address" }).click()
          await page.getByLabel("E-mail").fill("first@example.org")
          await page.getByLabel("New passphrase").fill(passphrase)
          await page.getByRole("button", { name: "Set the passphrase" }).click()
          await page.getByText("The passphrase was changed.").waitFor()
          await page.getByRole("button", { name: "Sign out", exact: true }).click()
          await page.getByLabel("E-mail").fill("first@example.org")
          await page.getByLabel("Passphrase").fill("not the passphrase")
          await page.getByRole("button", { name: "Sign in" }).click()
          await page.getByRole("alert").waitFor()
          await page.getByLabel("Passphrase").fill(passphrase)
          await page.getByRole("button", { name: "Sign in" }).click()
          await heading(page, "Account").waitFor()
          await page.goto("/console/sandboxes/sbx_01m80z8t47ezf83e6wj5da1qzb")
          await page.getByText("There is no such resource").first().waitFor()
          assert.deepStrictEqual(complaints, { texts: [], elsewhere: [] })
        })
      })
    )
  )

  it.effect.skipIf(noChromium !== null)("scrolls through 5,000 Sandboxes with few of them in the document", () =>
    asNewPerson(async ({ page }) => {
      await createSandbox(page, "pattern", "research")
      await page.getByRole("row").getByText("running").waitFor()
      const pattern = (await page.evaluate(`(async () => {
        const { session } = await (await fetch("/console/api/session")).json()
        const answer = await fetch("/api/v2/sandboxes", { headers: { "x-atoll-csrf": session.csrf } })
        return (await answer.json()).sandboxes[0]
      })()`)) as object
      const of = (index: number) => ({ ...pattern, id: `sbx_${String(index).padStart(26, "0")}`, name: `row ${index}` })
      const sandboxes = Array.from({ length: 5000 }, (_, index) => of(index))
      await page.route("**/api/v2/sandboxes?*", (route) => {
        const first = Number(new URL(route.request().url()).searchParams.get("cursor") ?? 0)
        const next = first + 1000
        const nextCursor = next < sandboxes.length ? String(next) : null
        return route.fulfill({ json: { sandboxes: sandboxes.slice(first, next), nextCursor } })
      })
      await page.reload()
      await page.getByText("5,000 of 5,000").waitFor()
      const inDocument = () => page.locator(".windowed-body .row").count()
      assert.isBelow(await inDocument(), 60)
      const work = await Work.of(page)
      await work.assertShort("of scrolling", async (step) => {
        for (let part = 0; part <= 60; part++) {
          await step(() =>
            page.evaluate(
              `{ const view = document.querySelector(".windowed"); view.scrollTop = (view.scrollHeight * ${part}) / 60 }`
            )
          )
        }
      })
      await page.getByText("row 4999", { exact: true }).waitFor()
      assert.isBelow(await inDocument(), 60)
      await page.getByLabel("Search").fill("row 4321")
      await page.getByText("1 of 5,000").waitFor()
    })
  )

  it.effect.skipIf(noChromium !== null)("can be used by the keyboard alone", () =>
    asNewPerson(async ({ page }) => {
      await page.reload()
      await heading(page, "Sandboxes").waitFor()
      await page.keyboard.press("Tab")
      assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Skip to the page")
      const create = page.getByRole("button", { name: "Create", exact: true })
      // It can be pressed once the workspaces are known.
      await create.and(page.locator(":enabled")).waitFor()
      await create.focus()
      await page.keyboard.press("Enter")
      await page.getByRole("dialog").waitFor()
      assert.strictEqual(await page.evaluate("document.querySelectorAll(':modal').length"), 1)
      assert.isTrue(await page.evaluate(`document.querySelector("dialog").contains(document.activeElement)`))
      await page.keyboard.press("Escape")
      await page.getByRole("dialog").waitFor({ state: "detached" })
      assert.strictEqual(await page.evaluate("document.activeElement.textContent"), "Create")
      const focus = await focusOnceShown(page, "nav [href='/console/usage'][aria-current]", "main")
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Usage" }).press("Enter")
      assert.isTrue(await focus(), "the new page has the focus as it is shown")
    })
  )
})
