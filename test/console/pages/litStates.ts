/** What a page lights of an actor's life, against what the service keeps of it. */
import { assert } from "@effect/vitest"
import type { Page } from "playwright-core"
import type { Transition } from "../../../schemas/Transition.ts"

export const names = (page: Page, selector: string, attribute: string): Promise<ReadonlyArray<string | null>> =>
  page
    .locator(selector)
    .evaluateAll(
      (found, name) =>
        found.map((one) => (one as unknown as { getAttribute: (name: string) => string | null }).getAttribute(name)),
      attribute
    )

export const atRevision = (page: Page, revision: number, of: number) =>
  page.locator(`[data-revision="${revision}"][data-newest="${of}"]`).waitFor()

export const assertLit = async (page: Page, { from, to, event, revision, requestId }: Transition) => {
  const about = `revision ${revision}`
  assert.deepStrictEqual(await names(page, ".state.current", "data-state"), [to], about)
  const stays = from === null || from === to
  assert.deepStrictEqual(await names(page, ".state.previous", "data-state"), stays ? [] : [from], about)
  assert.deepStrictEqual(
    await names(page, ".edge.taken[data-line]", "data-line"),
    stays ? [] : [`${from}>${to}`],
    about
  )
  const shown = (await page.locator(".controls").textContent())!
  assert.include(shown, event.type, about)
  if (requestId !== null) assert.include(shown, requestId, about)
}

/** From the newest to the first, on to the newest again, and back: at each revision the state lit is the state stored. */
export const assertLifeLit = async (page: Page, log: ReadonlyArray<Transition>) => {
  await atRevision(page, log.length, log.length)
  await page.getByRole("button", { name: "First" }).click()
  for (const transition of log) {
    await atRevision(page, transition.revision, log.length)
    await assertLit(page, transition)
    if (transition.revision < log.length) await page.getByRole("button", { name: "One revision on" }).click()
  }
  const scrubber = page.getByRole("slider", { name: "Revision" })
  for (const transition of log.toReversed()) {
    await atRevision(page, transition.revision, log.length)
    await assertLit(page, transition)
    await scrubber.press("ArrowLeft")
  }
}
