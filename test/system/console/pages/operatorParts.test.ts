/** The operator's page in a real Chromium: keys, the search of accounts, the check of the books, backups and the audit of all accounts. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { OperatorSessions } from "../../../../src/console/server/OperatorSessions.ts"
import { withinMs } from "../../../support/commandLine.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { dialogFaults } from "../../../support/console/pages/dialogs.ts"
import { focusOnceShown } from "../../../support/console/pages/focus.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { atRest, clean, heading, tooWide } from "../../../support/console/pages/visits.ts"
import { backupFolderApi } from "../../../support/console/server/backupFolderApi.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const wide = { width: 1280, height: 860 }

/** Shows a part of the page, by the keyboard. */
const part = async (page: Page, name: string) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("button", { name, exact: true }).press("Enter")
  await heading(page, name).waitFor()
  await atRest(page)
}

/** What axe finds, light and dark, and where it is too wide for a telephone. */
const sound = async (page: Page, name: string) => {
  await atRest(page)
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    assert.deepStrictEqual(await violations(page), [], `${name}, ${colorScheme}`)
  }
  await page.setViewportSize({ width: 390, height: 844 })
  assert.isAtMost(await tooWide(page), 0, name)
  assert.deepStrictEqual(await violations(page), [], `${name}, narrow`)
  await page.setViewportSize(wide)
}

const keys = async (page: Page) => {
  const dialog = page.getByRole("dialog")
  await part(page, "Keys")
  await page.getByRole("button", { name: "Create a key" }).press("Enter")
  assert.deepStrictEqual(await dialogFaults(page), [])
  await dialog.getByLabel("Account").fill("none")
  await dialog.getByLabel("Name", { exact: true }).fill("<i>ci</i>")
  await page.keyboard.press("Enter")
  await dialog.getByText('There is no account named "none".').waitFor()
  await dialog.getByLabel("Account").fill("Many 77")
  await page.keyboard.press("Enter")
  await dialog.getByText(/^made the key key_\w+; its secret is not shown again$/).waitFor()
  assert.deepStrictEqual(await dialogFaults(page), [])
  const secret = (await dialog.locator(".secret").textContent())!
  assert.match(secret, /^atoll_live_\w{43}$/)
  await dialog.getByRole("button", { name: "I have saved it" }).press("Enter")
  await dialog.waitFor({ state: "detached" })
  assert.notInclude(await page.content(), secret)
  await page.getByLabel("Account").fill("Many 77")
  await page.keyboard.press("Enter")
  await atRest(page)
  const row = page.getByRole("row").filter({ hasText: "<i>ci</i>" })
  await sound(page, "Keys")
  await row.getByRole("button", { name: "Revoke <i>ci</i> of Many 77" }).press("Enter")
  await dialog.getByText("This cannot be undone.").waitFor()
  await dialog.getByRole("button", { name: "Revoke" }).press("Enter")
  await dialog.getByText(/is revoked\.$/).waitFor()
  await page.keyboard.press("Escape")
  await row.locator(".status.revoked").waitFor()
}

const accounts = async (page: Page) => {
  await part(page, "Accounts")
  const found = page.locator(".filters .found")
  const pages = page.getByRole("navigation", { name: "Pages of accounts" })
  await page.getByLabel("Find").fill("many ")
  await found.getByText("120 accounts").waitFor()
  await pages.getByText("1 to 50 of 120").waitFor()
  await pages.getByRole("button", { name: "Next" }).press("Enter")
  await pages.getByText("51 to 100 of 120").waitFor()
  await page.getByRole("row", { name: /^Many 51 / }).waitFor()
  await sound(page, "Accounts")
  await pages.getByRole("button", { name: "Previous" }).press("Enter")
  await page.getByRole("row", { name: /^Many 1 / }).waitFor()
  await page.getByLabel("Find").fill("no such")
  await page.getByText("No account matches.").waitFor()
  await page.getByLabel("Find").fill("many 77")
  await found.getByText("1 account", { exact: true }).waitFor()
  const focus = await focusOnceShown(page, ".account-details", ".account-details")
  await page.getByRole("button", { name: "Details of Many 77" }).press("Enter")
  assert.isTrue(await focus(), "the details have the focus as they are shown")
  const details = page.getByRole("region", { name: "Details of Many 77" })
  await details.getByRole("row", { name: /createKey 200|createKey 201/ }).waitFor()
  await sound(page, "Details")
  await details.getByRole("button", { name: "Audit" }).press("Enter")
  await heading(page, "Audit").waitFor()
  await atRest(page)
  assert.strictEqual(await page.getByLabel("Account").inputValue(), "acc_many077")
  await page.getByRole("row", { name: /revokeKey POST/ }).waitFor()
}

const backups = async (page: Page) => {
  const dialog = page.getByRole("dialog")
  await part(page, "Backups")
  await page.getByText("The folder has no backup yet.").waitFor()
  await sound(page, "Backups, none")
  await page.getByRole("button", { name: "Back up now" }).press("Enter")
  assert.deepStrictEqual(await dialogFaults(page), [])
  await dialog.getByRole("button", { name: "Cancel" }).press("Enter")
  await page.getByText("The folder has no backup yet.").waitFor()
  await page.getByRole("button", { name: "Back up now" }).press("Enter")
  await dialog.getByRole("button", { name: "Start the backup" }).press("Enter")
  const said = await dialog.getByText(/^atoll-\S+ is being written\.$/).textContent()
  await page.keyboard.press("Escape")
  await page.locator("[data-run=done]").getByText("and was verified.").waitFor()
  const name = said!.split(" ")[0]!
  await page.locator(`tr[data-backup="${name}"]`).waitFor()
  await page.getByText(`npm run --silent atoll -- restore`).filter({ hasText: name }).waitFor()
  await sound(page, "Backups")
}

const audit = async (page: Page) => {
  await part(page, "Audit")
  await page.getByRole("row", { name: /startBackup POST/ }).waitFor()
  await page.getByLabel("Action").fill("makeTea")
  await page.keyboard.press("Enter")
  await page.getByText("Not known.").waitFor()
  await sound(page, "Audit, refused")
  await page.getByLabel("Action").fill("createKey")
  await page.getByRole("combobox", { name: "By" }).selectOption("")
  await page.getByRole("button", { name: "Filter" }).press("Enter")
  await page.getByRole("row", { name: /createKey POST .*Many 77/ }).waitFor()
  assert.strictEqual(await page.getByRole("row", { name: /startBackup/ }).count(), 0)
  await sound(page, "Audit")
  await page.getByLabel("Account").fill("Many 1")
  await page.keyboard.press("Enter")
  await page.getByText("No event matches.").waitFor()
}

const health = async (page: Page) => {
  await part(page, "Health")
  await page.getByRole("button", { name: "Run the checks" }).press("Enter")
  await page.locator("[data-check=database]").getByText("The database answers.").waitFor()
  await sound(page, "Health")
}

/** The last one: it signs this browser out, too. */
const sessions = async (page: Page) => {
  const dialog = page.getByRole("dialog")
  await part(page, "Sessions")
  await page.locator("[data-session]").getByText("this one").waitFor()
  await sound(page, "Sessions")
  await page.getByRole("button", { name: "End all sessions" }).press("Enter")
  assert.deepStrictEqual(await dialogFaults(page), [])
  await dialog.getByRole("button", { name: "End all sessions" }).press("Enter")
  await page.getByText("Your session has ended.").waitFor()
  assert.strictEqual(await page.getByRole("dialog").count(), 0)
}

layer(backupFolderApi(), { excludeTestServices: true })("the operator's page", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "creates and revokes a key, finds an account among many, verifies the books, backs up, shows all of it in one audit, examines the machine and ends all sessions; by the keyboard",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* TestApi
          const sql = yield* SqlClient.SqlClient
          yield* sql`
            insert into accounts (id, name, email, created_at, billing)
            select 'acc_many' || lpad(n::text, 3, '0'), 'Many ' || n, null, n, 'unlimited' from generate_series(1, 120) n`
          const { code } = yield* (yield* OperatorSessions).createLink
          const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${port}`, {
            viewport: wide,
            reducedMotion: "reduce"
          })
          yield* Effect.promise(async () => {
            const { page } = visit
            await page.goto(`/console/operator#link=${code}`)
            await page.getByRole("button", { name: "Sign in" }).press("Enter")
            await heading(page, "Accounts").waitFor()
            await keys(page)
            await accounts(page)
            await part(page, "Usage")
            await page.getByRole("button", { name: "Verify the books" }).press("Enter")
            await page.getByText("Everything agrees.").waitFor()
            await sound(page, "Usage")
            await backups(page)
            await audit(page)
            await health(page)
            clean(visit)
            await sessions(page)
          })
        })
      ).pipe(Effect.provide(OperatorSessions.layer)),
    withinMs
  )
})
