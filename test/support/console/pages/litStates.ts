/** What a page lights of an actor's life, against what the service keeps of it. */
import { assert } from "@effect/vitest"
import type { Page } from "playwright-core"
import type { AnyStateMachine } from "xstate"
import type { Transition, TransitionList } from "../../../../schemas/Transition.ts"
import { sameJson } from "../../../../src/console/pages/machine/sameJson.ts"
import type { AnyEvent } from "../../../../src/engine/ActorDefinition.ts"
import { begin, decide } from "../../../../src/engine/Transition.ts"
import type { Deadlines } from "../../../../src/store/JournalRecord.ts"

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
  // An edge from any state stands for all of them.
  const taken = await names(page, ".edge.taken[data-line]", "data-line")
  assert.deepStrictEqual(
    taken.map((id) => id!.replace("*", String(from))),
    stays ? [] : [`${from}>${to}`],
    about
  )
  const shown = (await page.locator(".controls").textContent())!
  assert.include(shown, event.type, about)
  if (requestId !== null) assert.include(shown, requestId, about)
}

interface Step {
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>>
  readonly deadlines: Deadlines
}

/** What the service's own fold makes of a log in which no deadline came: its contexts, and the deadlines that wait. */
export const stepsOf = (machine: AnyStateMachine, { transitions, stored }: TransitionList): ReadonlyArray<Step> => {
  let { snapshot, deadlines } = begin(machine, { ...stored.context, at: stored.context["createdAt"] })
  const steps: Array<Step> = [{ before: null, after: snapshot.context, deadlines }]
  for (const { event, revision } of transitions.slice(1)) {
    const verdict = decide(machine, snapshot, event as AnyEvent, revision, deadlines)
    if (verdict.type !== "accepted") throw new Error(`Revision ${revision} is not taken.`)
    steps.push({ before: snapshot.context, after: verdict.snapshot.context, deadlines: verdict.deadlines })
    ;({ snapshot, deadlines } = verdict)
  }
  return steps
}

const text = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value))

/** The fields that differ, and no others, with both of their values; and the deadlines that wait. */
export const assertStep = async (page: Page, { before, after, deadlines }: Step) => {
  const fields = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])]
  const differing = fields.filter((name) => before === null || !sameJson(before[name], after[name]))
  const texts = (selector: string) => page.locator(selector).allTextContents()
  assert.deepStrictEqual(await texts(".changes table tbody th"), differing)
  assert.deepStrictEqual(
    await texts(".changes table .before > code"),
    before === null ? [] : differing.map((name) => text(before[name]))
  )
  assert.deepStrictEqual(
    await texts(`.changes table ${before === null ? "td" : ".after"} > code`),
    differing.map((name) => text(after[name]))
  )
  const waiting = page.getByRole("list", { name: "Deadlines" }).getByRole("listitem")
  assert.deepStrictEqual(
    await waiting.evaluateAll((found) =>
      found.map((one) => {
        const { children } = one as unknown as { children: ReadonlyArray<{ textContent: string; dateTime?: string }> }
        return [...children].map(({ dateTime, textContent }) => dateTime ?? textContent)
      })
    ),
    Object.entries(deadlines).map(([name, { at, event }]) => [name, new Date(at).toISOString(), JSON.stringify(event)])
  )
}

/** What earlier steps had asked for and was not done: as many as the service tells, each by its name. */
export const assertStillPending = async (page: Page, log: ReadonlyArray<Transition>, revision: number) => {
  const { stillPending } = log[revision - 1]!
  const shown = page.getByRole("list", { name: "Still pending" }).getByRole("listitem")
  assert.deepStrictEqual(
    await shown.allTextContents(),
    stillPending!.map((one) => `${log[one.revision - 1]!.commands[one.index]!.type} of revision ${one.revision}`)
  )
}

/** From the newest to the first, on to the newest again, and back: at each revision the state lit is the state stored. */
export const assertLifeLit = async (
  page: Page,
  log: ReadonlyArray<Transition>,
  also: (revision: number) => Promise<void> = async () => {}
) => {
  await atRevision(page, log.length, log.length)
  await page.getByRole("button", { name: "First" }).click()
  for (const transition of log) {
    await atRevision(page, transition.revision, log.length)
    await assertLit(page, transition)
    await also(transition.revision)
    if (transition.revision < log.length) await page.getByRole("button", { name: "One revision on" }).click()
  }
  const scrubber = page.getByRole("slider", { name: "Revision" })
  for (const transition of log.toReversed()) {
    await atRevision(page, transition.revision, log.length)
    await assertLit(page, transition)
    await scrubber.press("ArrowLeft")
  }
}
