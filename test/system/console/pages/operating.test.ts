/** The operator's page of one host, in a real Chromium: accounts, invitations and rates. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OperatorSessions } from "../../../../src/console/server/OperatorSessions.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { atRest, clean, heading, tooWide } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

layer(TestApi.layer(), { excludeTestServices: true })("the operator's page of one host", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "creates an account, gives it credit, suspends it after a question, and shows that in its audit; by the keyboard, too",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* TestApi
          const { code } = yield* (yield* OperatorSessions).createLink
          const visit = yield* (yield* testBrowser).open(`http://127.0.0.1:${port}`, {
            viewport: { width: 1280, height: 860 },
            reducedMotion: "reduce"
          })
          yield* Effect.promise(async () => {
            const { page } = visit
            await page.goto(`/console/operator#link=${code}`)
            await page.getByRole("button", { name: "Sign in" }).click()
            await heading(page, "Accounts").waitFor()
            const dialog = page.getByRole("dialog")
            await page.getByRole("button", { name: "Create an account" }).press("Enter")
            await dialog.getByLabel("Name").fill("<b>acme</b>")
            await dialog.getByLabel("Billing").selectOption("prepaid")
            await dialog.getByLabel("Initial credit").fill("twelve")
            await dialog.getByRole("button", { name: "Create the account" }).click()
            await dialog.getByText("--credit-usd takes dollars as a decimal").waitFor()
            await dialog.getByLabel("Initial credit").fill("12.50")
            await dialog.getByRole("button", { name: "Create the account" }).click()
            await dialog.getByText(/^acc_/).waitFor()
            await dialog.getByRole("button", { name: "Close" }).click()

            const row = page.getByRole("row").filter({ hasText: "<b>acme</b>" })
            await row.getByRole("button", { name: "Credit <b>acme</b>" }).click()
            await dialog.getByLabel("Dollars").fill("7.50")
            await dialog.getByRole("button", { name: "Give the credit" }).click()
            await dialog.getByText("<b>acme</b> has 20.00 USD.").waitFor()
            await page.keyboard.press("Escape")

            await row.getByRole("button", { name: "Suspend <b>acme</b>" }).click()
            await dialog.getByText("Volumes, records and logs stay.").waitFor()
            await dialog.getByRole("button", { name: "Cancel" }).click()
            assert.strictEqual(await row.getByText("suspended").count(), 0)
            await row.getByRole("button", { name: "Suspend <b>acme</b>" }).click()
            await dialog.getByRole("button", { name: "Suspend" }).click()
            await dialog.getByText("<b>acme</b> is suspended").waitFor()
            await dialog.getByRole("button", { name: "Close" }).click()
            await row.getByText("suspended").waitFor()
            await row.getByRole("button", { name: "Details of <b>acme</b>" }).click()
            await page.getByRole("row", { name: /suspendAccount 200/ }).waitFor()
            await page.getByText("$20.00").waitFor()

            await page.getByRole("button", { name: "Invitations", exact: true }).click()
            await page.getByRole("button", { name: "Invite a person" }).click()
            await dialog.getByRole("button", { name: "Make the link" }).click()
            assert.match((await dialog.locator(".secret").textContent())!, /#invitation=[\w-]{43}$/)
            await dialog.getByRole("button", { name: "I have saved it" }).click()
            await page.getByRole("row", { name: /inv_\w+ open any/ }).waitFor()
            for (const name of [
              "Accounts",
              "Keys",
              "Invitations",
              "Rates",
              "Usage",
              "Hosts",
              "Health",
              "Backups",
              "Audit"
            ]) {
              await page.getByRole("button", { name, exact: true }).click()
              await heading(page, name).waitFor()
              await atRest(page)
              for (const colorScheme of ["light", "dark"] as const) {
                await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
                assert.deepStrictEqual(await violations(page), [], name)
              }
              await page.setViewportSize({ width: 390, height: 844 })
              assert.isAtMost(await tooWide(page), 0, name)
              await page.setViewportSize({ width: 1280, height: 860 })
            }
            clean(visit)
          })
        })
      ).pipe(Effect.provide(OperatorSessions.layer))
  )
})
