/** The machines in a real Chromium: what is lit against what is stored, and a simulator against the machine of the service. */
import { assert, layer } from "@effect/vitest"
import type { TransitionList } from "../../../../schemas/Transition.ts"
import { kinds } from "../../../../src/console/pages/machine/kinds.ts"
import { sandboxKind } from "../../../../src/console/pages/machine/sandboxKind.ts"
import { simulatorLink } from "../../../../src/proofs/explore/pathReport.ts"
import { violations } from "../../../support/console/pages/axe.ts"
import {
  assertLifeLit,
  assertLit,
  assertStep,
  assertStillPending,
  atRevision,
  names,
  stepsOf
} from "../../../support/console/pages/litStates.ts"
import { plantedPath } from "../../../support/console/pages/plantedPath.ts"
import { compared } from "../../../support/console/pages/simulatorWalk.ts"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asNewPerson, asOwner, createSandbox, tooWide } from "../../../support/console/pages/visits.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

/** Boots, is stopped, boots again, dies, is asked to start, and is deleted. Answers with its log. */
const liveOn = async ({ send, crash }: TestApi["Service"], id: string): Promise<TransitionList> => {
  const path = `/api/v2/sandboxes/${id}`
  const post = (what: string) => send("POST", `${path}/${what}`)
  const becomes = (status: string) => untilFound(async () => (await send("GET", path)).json.sandbox.status === status)
  await post("stop")
  await becomes("stopped")
  await post("start")
  await becomes("running")
  crash(id)
  await becomes("stopped")
  await post("start")
  await becomes("running")
  await send("DELETE", path)
  await becomes("deleted")
  return (await send("GET", `${path}/transitions`)).json
}

layer(TestApi.layer(), { excludeTestServices: true })("the machines in a browser", (it) => {
  it.effect.skipIf(noChromium !== null)(
    "follow a Sandbox's life as it is lived; at each revision the state lit is the state stored, forwards and back",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        await page.goto(`/console/sandboxes/${id}`)
        await page.getByText("Live", { exact: true }).waitFor()
        await page.locator(".state.current[data-state=running]").waitFor()
        const list = await liveOn(api, id)
        const log = list.transitions
        assert.isAbove(log.length, 10)
        await atRevision(page, log.length, log.length)
        await page.getByText(`equals what the service stores at revision ${log.length}`).waitFor()
        await page.reload()
        const steps = stepsOf(sandboxKind.machine, list)
        assert.isTrue(steps.some(({ deadlines }) => "boot" in deadlines))
        // Over a fleet all may be done by the time that the other service is asked.
        if (!isOverAFleet) assert.isTrue(log.some(({ stillPending }) => stillPending!.length > 0))
        await assertLifeLit(page, log, async (revision) => {
          await assertStep(page, steps[revision - 1]!)
          await assertStillPending(page, log, revision)
        })
        await page.getByRole("button", { name: "Show revision 2", exact: true }).click()
        await atRevision(page, 2, log.length)
        await assertLit(page, log[1]!)
      })
  )

  it.effect.skipIf(noChromium !== null)("say so where the fold of the log is not what the service stores", () =>
    asOwner(async ({ page }, api) => {
      const id = await api.newSandbox(await api.newWorkspace())
      await page.route(`**/api/v2/sandboxes/${id}/transitions?*`, async (route) => {
        const list = (await (await route.fetch()).json()) as TransitionList
        const context = { ...list.stored.context, generation: 7 }
        return route.fulfill({ json: { ...list, stored: { ...list.stored, context } } })
      })
      await page.goto(`/console/sandboxes/${id}`)
      const differs = page.getByRole("alert").filter({ hasText: "differs from the service's snapshot at revision" })
      await differs.waitFor()
      assert.strictEqual(await page.getByText("equals what the service stores").count(), 0)
    })
  )

  it.effect.skipIf(noChromium !== null)("move only for who does not ask for less motion", () =>
    asOwner(async ({ page }, api) => {
      const id = await api.newSandbox(await api.newWorkspace())
      await page.goto(`/console/sandboxes/${id}`)
      await page.locator(".edge.taken[data-line]").waitFor()
      const moving = (selector: string) =>
        page.evaluate(`[...document.querySelectorAll("${selector}")].flatMap((one) => {
          const { animationName, transitionDuration } = getComputedStyle(one)
          return animationName === "none" && parseFloat(transitionDuration) === 0 ? [] : [animationName]
        })`)
      assert.deepStrictEqual(await moving("*"), [])
      await page.emulateMedia({ reducedMotion: "no-preference" })
      assert.deepStrictEqual(await moving(".edge"), ["taken"])
      assert.deepStrictEqual(await moving(".halo"), ["arrived"])
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "show each what the service's machine says of every event in every state that it can reach",
    () =>
      asOwner(async ({ page }) => {
        for (const kind of kinds) {
          await page.goto(`/console/machines/${kind.kind}`)
          await page.getByRole("button", { name: "Send" }).waitFor()
          const all = await compared(page, kind)
          for (const { about, expected, shown } of all) assert.deepStrictEqual(shown, expected, about)
          const events = kind.chart.events.map(({ name }) => name)
          const pairs = kind.chart.states.flatMap(({ name }) =>
            events.map((event) => `${kind.kind}: ${event} in ${name}`)
          )
          assert.sameMembers([...new Set(all.map(({ about }) => about))], pairs)
        }
      })
  )

  it.effect.skipIf(noChromium !== null)("stand on the first screen of a phone, where facts are folded away", () =>
    asNewPerson(
      async ({ page }) => {
        await createSandbox(page, "first", "research")
        await page.getByRole("link", { name: "first" }).click()
        const lit = page.locator(".state.current[data-state=running]")
        await lit.waitFor()
        // Its box grows with what the state does; its name stands at the top.
        const name = (await lit.locator(".name").boundingBox())!
        assert.isAtMost(name.y + name.height, 844)
        const runtime = page.getByText("Runtime", { exact: true })
        assert.isFalse(await runtime.isVisible())
        await page.getByText("Facts", { exact: true }).click()
        assert.isTrue(await runtime.isVisible())
      },
      { viewport: { width: 390, height: 844 } }
    )
  )

  it.effect.skipIf(noChromium !== null)(
    "step through the path of a violation, opened from the link of an exploration",
    () =>
      asOwner(async ({ page }) => {
        const { path } = await plantedPath()
        await page.goto(simulatorLink(path))
        const { length } = path.moments
        const at = (place: number) => page.locator(`.path[data-place="${place}"][data-steps="${length}"]`).waitFor()
        await at(0)
        for (const [index, { label, sent }] of path.moments.entries()) {
          await page.getByRole("button", { name: "Next step" }).click()
          await at(index + 1)
          await page.getByText(label).first().waitFor()
          // The last step is the planted fault's: the machine of the service refuses it, and the page says so.
          if (index + 1 === length)
            await page.getByRole("alert").getByText("the explored machine said accepted").waitFor()
          else await page.locator(`.state.current[data-state=${sent.at(-1)!.state}]`).waitFor()
        }
        assert.isTrue(await page.getByRole("button", { name: "Next step" }).isDisabled())
        await page.getByRole("button", { name: "Previous step" }).click()
        await at(length - 1)
        assert.strictEqual(await page.getByRole("alert").count(), 0)
        assert.deepStrictEqual(await violations(page), [])
      })
  )

  it.effect.skipIf(noChromium !== null)("take parameters as they are written, and refuse what is no JSON", () =>
    asOwner(async ({ page }) => {
      await page.goto("/console/machines")
      await page.getByLabel("Event", { exact: true }).selectOption("RUNTIME_UP")
      await page.getByLabel("Parameters").fill(`{ "generation": 7 }`)
      await page.getByRole("button", { name: "Send" }).click()
      await page.getByText("STALE_RUNTIME_EVENT", { exact: true }).first().waitFor()
      assert.deepStrictEqual(await names(page, ".state.current", "data-state"), ["pending"])
      await page.getByLabel("Parameters").fill("{")
      await page.getByRole("button", { name: "Send" }).click()
      await page.getByText("The parameters are not valid JSON").waitFor()
      await page.getByLabel("Parameters").fill(`{ "generation": 1 }`)
      await page.getByRole("button", { name: "Send" }).click()
      await page.locator(".state.current[data-state=running]").waitFor()
      const row = page.getByRole("row", { name: /^startedAt null \d+ ?\d{4}-/ })
      assert.strictEqual(await row.count(), 1)
    })
  )

  it.effect.skipIf(noChromium !== null)(
    "tell about every state and edge by the keyboard, and have no fault that axe-core finds",
    () =>
      asOwner(async ({ page }, api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const found: Array<string> = []
        for (const path of ["/console/machines", `/console/sandboxes/${id}`]) {
          await page.goto(path)
          await page.locator(".statechart").waitFor()
          for (const colorScheme of ["light", "dark"] as const) {
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
            found.push(...(await violations(page)))
          }
        }
        assert.deepStrictEqual(found, [])
        const { chart } = kinds[0]!
        const about = page.locator(".statechart .about")
        for (const { name, description } of chart.states) {
          await page.locator(`[data-state="${name}"]`).focus()
          assert.include(await about.textContent(), description)
        }
        for (const { id: edge, lines } of chart.overview.edges) {
          await page.locator(`[data-edge="${edge}"]`).focus()
          const transition = chart.transitions.find((one) => one.id === lines[0]!.transitions[0])!
          assert.include(await about.textContent(), transition.description)
          for (const { name } of transition.commands) assert.include(await about.textContent(), name)
        }
        // By the pointer: a state, an edge's label, and the edge itself.
        await page.getByRole("button", { name: "Fit the whole diagram" }).click()
        const wait = (text: string) => about.getByText(text).first().waitFor()
        for (const { name, description } of chart.states.slice(0, 3)) {
          await page.locator(`[data-state="${name}"]`).hover()
          await wait(description)
        }
        const [edge] = chart.overview.edges
        await page.locator(`[data-edge="${edge!.id}"]`).hover()
        await about.getByRole("heading", { name: `${edge!.from} → ${edge!.to}` }).waitFor()
        const other = chart.overview.edges.find(({ from, to }) => from === "running" && to === "stopping")!
        // The pointer does not scroll by itself to where the line ends.
        await page.locator('[data-state="stopping"]').scrollIntoViewIfNeeded()
        const at = (await page.locator(`[data-line="${other.id}"]`).evaluate((path) => {
          const line = path as unknown as {
            getTotalLength: () => number
            getPointAtLength: (at: number) => { matrixTransform: (by: unknown) => { x: number; y: number } }
            getScreenCTM: () => unknown
          }
          const { x, y } = line.getPointAtLength(line.getTotalLength() - 12).matrixTransform(line.getScreenCTM())
          return { x, y }
        })) as { x: number; y: number }
        await page.mouse.move(at.x, at.y)
        await about.getByRole("heading", { name: "running → stopping" }).waitFor()
        const label = await page.locator('[data-state="running"]').getAttribute("aria-label")
        assert.include(label, "current state")
        await page.setViewportSize({ width: 360, height: 700 })
        assert.isAtMost(await tooWide(page), 0, "wider than a narrow screen")
      })
  )
})
