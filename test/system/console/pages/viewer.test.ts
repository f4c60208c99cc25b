/** The viewer of statecharts in a real Chromium: how it opens, moves and follows. */
import { assert, layer } from "@effect/vitest"
import type { Page } from "playwright-core"
import { noChromium } from "../../../support/console/pages/TestBrowser.ts"
import { asOwner, tooWide } from "../../../support/console/pages/visits.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

/** Height of the smallest letters of the drawing on the screen, in pixels. */
const smallestText = (page: Page) =>
  page.evaluate(`Math.min(...[...document.querySelectorAll(".drawing text")].map((text) =>
    parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))`) as Promise<number>

/** The place of a state is inside of the drawing's frame. */
const isInSight = (page: Page, state: string) =>
  page.evaluate(`(() => {
    const frame = document.querySelector(".drawing").getBoundingClientRect()
    const box = document.querySelector('[data-state="${state}"] .name').getBoundingClientRect()
    return box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom
  })()`) as Promise<boolean>

/** [x, y, scale]. */
const view = async (page: Page): Promise<ReadonlyArray<number>> =>
  (await page.locator(".drawing svg > g").getAttribute("transform"))!.match(/-?[\d.]+(?:e-?\d+)?/g)!.map(Number)

const scaleOf = async (page: Page) => (await view(page))[2]!

const opened = async (page: Page, api: TestApi["Service"]) => {
  const id = await api.newSandbox(await api.newWorkspace())
  await page.goto(`/console/sandboxes/${id}`)
  await page.locator(".state.current[data-state=running]").waitFor()
  return id
}

layer(TestApi.layer(), { excludeTestServices: true })("the viewer of a statechart", (it) => {
  for (const [device, viewport] of [
    ["a desk", { width: 1280, height: 860 }],
    ["a telephone", { width: 390, height: 844 }]
  ] as const) {
    it.effect.skipIf(noChromium !== null)(`opens on the current state in letters of 12 pixels, on ${device}`, () =>
      asOwner(
        async ({ page }, api) => {
          await opened(page, api)
          for (const name of [null, "Overview", "Detail", "Neighbours"]) {
            if (name !== null) await page.getByRole("button", { name, exact: true }).click()
            await untilFound(() => isInSight(page, "running"))
            assert.isAtLeast(await smallestText(page), 11.99, `${name}`)
            assert.isAtMost(await tooWide(page), 0)
          }
        },
        { viewport }
      )
    )
  }

  it.effect.skipIf(noChromium !== null)("draws what leads to an end from everywhere once", () =>
    asOwner(async ({ page }, api) => {
      await opened(page, api)
      for (const name of ["Overview", "Detail"]) {
        await page.getByRole("button", { name, exact: true }).click()
        assert.strictEqual(await page.locator('.drawing [data-line$=">deleting"][data-line^="*"]').count(), 1)
        const labels = page.locator(".drawing .label").filter({ has: page.getByText("DELETE", { exact: true }) })
        assert.strictEqual(await labels.count(), 1)
      }
    })
  )

  it.effect.skipIf(noChromium !== null)("zooms by keys, buttons, wheel and two fingers, moves, and fits", () =>
    asOwner(async ({ page }, api) => {
      await opened(page, api)
      const drawing = page.locator(".drawing")
      const first = await scaleOf(page)
      await drawing.focus()
      await page.keyboard.press("+")
      assert.closeTo(await scaleOf(page), 1.25 * first, 0.01)
      const [x] = await view(page)
      await page.keyboard.press("ArrowRight")
      assert.notStrictEqual((await view(page))[0], x)
      await page.getByRole("button", { name: "Make the diagram smaller" }).click()
      assert.closeTo(await scaleOf(page), first, 0.01)
      // With the focus in the drawing, a wheel zooms it; the page stays.
      const box = (await drawing.boundingBox())!
      await drawing.focus()
      await page.mouse.move(box.x + 200, box.y + 100)
      await page.mouse.wheel(0, -200)
      await untilFound(async () => (await scaleOf(page)) > first)
      const wheeled = await scaleOf(page)
      await page.evaluate(`(() => {
        const drawing = document.querySelector(".drawing")
        const { left, top } = drawing.getBoundingClientRect()
        const send = (type, pointerId, x) => drawing.dispatchEvent(
          new PointerEvent(type, { pointerId, clientX: left + x, clientY: top + 100, button: 0, bubbles: true }))
        send("pointerdown", 11, 100)
        send("pointerdown", 12, 200)
        send("pointermove", 12, 160)
        send("pointerup", 11, 100)
        send("pointerup", 12, 160)
      })()`)
      await untilFound(async () => Math.abs((await scaleOf(page)) - 0.6 * wheeled) < 0.02)
      await page.getByRole("button", { name: "Detail", exact: true }).click()
      const map = page.locator(".minimap")
      await map.waitFor()
      const before = await view(page)
      const small = (await map.boundingBox())!
      await page.mouse.click(small.x + small.width - 8, small.y + small.height - 8)
      await untilFound(async () => (await view(page))[1] !== before[1])
      await page.getByRole("button", { name: "Fit the whole diagram" }).click()
      await map.waitFor({ state: "detached" })
      for (const state of ["pending", "deleted"]) assert.isTrue(await isInSight(page, state))
      // By the pointer it moves; what it is pointed at is still described.
      await page.keyboard.press("f")
      await drawing.focus()
      await page.keyboard.press("f")
      await page.locator(".statechart.full").waitFor()
      await page.keyboard.press("Escape")
      await page.locator(".statechart.full").waitFor({ state: "detached" })
    })
  )

  it.effect.skipIf(noChromium !== null)("follows the slider and the life, until it is asked not to", () =>
    asOwner(async ({ page }, api) => {
      const id = await opened(page, api)
      await page.getByRole("button", { name: "Detail", exact: true }).click()
      await api.send("DELETE", `/api/v2/sandboxes/${id}`)
      await page.locator(".state.current[data-state=deleted]").waitFor()
      await untilFound(() => isInSight(page, "deleted"))
      assert.isFalse(await isInSight(page, "pending"))
      await page.getByRole("button", { name: "First" }).click()
      await untilFound(() => isInSight(page, "pending"))
      await page.getByRole("button", { name: "Follow" }).click()
      await page.getByRole("button", { name: "Newest" }).click()
      await page.locator(".state.current[data-state=deleted]").waitFor()
      assert.isTrue(await isInSight(page, "pending"))
      await page.getByRole("button", { name: "Show the current state" }).click()
      await untilFound(() => isInSight(page, "deleted"))
    })
  )

  it.effect.skipIf(noChromium !== null)("leads from neighbour to neighbour by the keyboard, and back", () =>
    asOwner(
      async ({ page }, api) => {
        await opened(page, api)
        await page.locator('[data-state="stopping"]').focus()
        await page.keyboard.press("Enter")
        await page.locator('.drawing [data-line="stopping>stopped"]').waitFor()
        assert.strictEqual(await page.locator('.drawing [data-line="running>sleeping"]').count(), 0)
        await page.getByRole("button", { name: "Show the current state" }).click()
        await page.locator('.drawing [data-line="running>sleeping"]').waitFor()
      },
      { viewport: { width: 390, height: 844 } }
    )
  )
})
