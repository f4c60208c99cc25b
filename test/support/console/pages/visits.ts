/** Visits of the console: somebody who is signed in, and the steps that most of them take. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { BrowserContextOptions, Page } from "playwright-core"
import { SignInLinks } from "../../../../src/console/server/SignInLinks.ts"
import { TestApi } from "../../http/TestApi.ts"
import { newInvitation } from "../server/Browser.ts"
import { testBrowser, type Visit } from "./TestBrowser.ts"

export const passphrase = "a horse, a battery, a staple"

export const heading = (page: Page, name: string) => page.getByRole("heading", { name, level: 1, exact: true })

/** No pane waits for an answer. A function, for the policy lets no text become code. */
const isAtRest = (): boolean =>
  (globalThis as unknown as { document: { querySelector: (selector: string) => unknown } }).document.querySelector(
    '[aria-busy="true"]'
  ) === null

export const atRest = (page: Page) => page.waitForFunction(isAtRest)

export const goTo = async (page: Page, name: string) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click()
  await atRest(page)
}

/** How much wider the page is than what shows it, in pixels. */
export const tooWide = async (page: Page): Promise<number> =>
  Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"))

export const register = async (page: Page, code: string, email: string) => {
  await page.goto(`/console/#invitation=${code}`)
  await page.getByText("with $10.00 of credit").waitFor()
  await page.getByLabel("E-mail").fill(email)
  await page.getByLabel("Account name").fill(`Laboratory of ${email}`)
  await page.getByLabel("Passphrase").fill(passphrase)
  await page.getByRole("button", { name: "Create account" }).click()
  await heading(page, "Sandboxes").waitFor()
}

export const signIn = async (page: Page, email: string) => {
  await page.getByLabel("E-mail").fill(email)
  await page.getByLabel("Passphrase").fill(passphrase)
  await page.getByRole("button", { name: "Sign in" }).click()
}

export const signInByLink = async (page: Page, code: string) => {
  await page.goto(`/console/#link=${code}`)
  await page.getByRole("button", { name: "Sign in" }).click()
  await heading(page, "Sandboxes").waitFor()
}

/** The list is shown again afterwards. @param workspace Null: one that there is. */
export const createSandbox = async (page: Page, name: string, workspace: string | null) => {
  await page.getByRole("button", { name: "Create", exact: true }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Name", { exact: true }).fill(name)
  await dialog.getByText("More: network").click()
  if (workspace !== null) await dialog.getByLabel("New workspace's name").fill(workspace)
  await dialog.getByLabel("Metadata").fill("team=<b>blue</b>\nstage=test")
  await dialog.getByRole("button", { name: "Create" }).click()
  await page.getByRole("link", { name: "All Sandboxes" }).click()
  await dialog.waitFor({ state: "detached" })
}

/** A key of full scope, made in the page; its secret. */
export const createKey = async (page: Page, name: string): Promise<string> => {
  await goTo(page, "Keys")
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByLabel("Name", { exact: true }).fill(name)
  await page.getByRole("button", { name: "Create the key" }).click()
  const secret = (await page.locator(".secret").textContent())!
  await page.getByRole("button", { name: "I have saved it" }).click()
  return secret
}

export const clean = (visit: Visit) => assert.deepStrictEqual(visit.complaints, { texts: [], elsewhere: [] })

let people = 0

export interface NewPerson extends Visit {
  readonly email: string
  readonly origin: string
  /** Of whom comes over it, as the service sees him. */
  readonly sourceIp: string
}

/** Somebody who has just registered. */
export const asNewPerson = (test: (visit: NewPerson) => Promise<void>, options: BrowserContextOptions = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { port, sourceIp } = yield* TestApi
      const { code } = yield* newInvitation()
      const browser = yield* testBrowser
      const origin = `http://127.0.0.1:${port}`
      const visit = yield* browser.open(origin, { viewport: { width: 1280, height: 800 }, ...options })
      const email = `${people++}ada@example.org`
      yield* Effect.promise(async () => {
        await register(visit.page, code, email)
        await test({ ...visit, email, origin, sourceIp })
        clean(visit)
      })
    })
  )

/** Signed in as the account of the service's key. */
export const asOwner = (
  test: (visit: Visit, api: TestApi["Service"]) => Promise<void>,
  options: BrowserContextOptions = {}
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const api = yield* TestApi
      const { code } = yield* (yield* SignInLinks).create(api.accountId)
      const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${api.port}`, {
        viewport: { width: 1400, height: 900 },
        reducedMotion: "reduce",
        ...options
      })
      yield* Effect.promise(async () => {
        await signInByLink(visit.page, code)
        await test(visit, api)
        clean(visit)
      })
    }).pipe(Effect.provide(SignInLinks.layer))
  )
