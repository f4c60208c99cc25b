/**
 * What a page works for each step of something, until it is painted: CPU time of its own thread, scripts, layout and paint. A machine that is
 * busy with other things makes frames late, which is not the page's doing (`npm run bench -- console` has their times); but even CPU time grows
 * where others take the caches away, so a part of which a step was long is done again, and the bound is that of a machine on which the same
 * work takes a page a known time.
 */
import { assert } from "@effect/vitest"
import type { CDPSession, Page } from "playwright-core"

/** Of a frame that nobody feels. */
const workMaxMs = 50
const attemptsMax = 4

/** A page's work that has nothing to do with ours, but is of its kind: rows that are made, laid out and removed. What others do to memory and caches slows both. */
const sameWork = `(() => {
  for (let times = 0; times < 4; times++) {
    const list = document.createElement("div")
    list.style.cssText = "position: absolute; visibility: hidden; width: 900px"
    for (let row = 0; row < 60; row++) {
      const line = document.createElement("div")
      line.style.display = "flex"
      for (let column = 0; column < 6; column++) {
        const cell = document.createElement("span")
        cell.style.flex = "1"
        cell.textContent = row + " " + column
        line.append(cell)
      }
      list.append(line)
    }
    document.body.append(list)
    list.getBoundingClientRect()
    list.remove()
  }
})()`
/** How long it takes on the machine that the bound is for, or on a faster one: the median of so many. */
const sameWorkMs = 25
const sameWorkTimes = 5

export type Step = (act: () => Promise<unknown>) => Promise<void>

export class Work {
  readonly #page: Page
  readonly #session: CDPSession

  private constructor(page: Page, session: CDPSession) {
    this.#page = page
    this.#session = session
  }

  static async of(page: Page): Promise<Work> {
    const session = await page.context().newCDPSession(page)
    await session.send("Performance.enable", { timeDomain: "threadTicks" })
    return new Work(page, session)
  }

  /** Milliseconds until now. */
  async #done(): Promise<number> {
    const { metrics } = await this.#session.send("Performance.getMetrics")
    return 1000 * metrics.find(({ name }) => name === "TaskDuration")!.value
  }

  /** How many times slower this machine is at the moment; at least 1. */
  async #slowness(): Promise<number> {
    const took: Array<number> = []
    for (let times = 0; times < sameWorkTimes; times++) {
      const before = await this.#done()
      await this.#page.evaluate(sameWork)
      took.push((await this.#done()) - before)
    }
    return Math.max(1, took.sort((one, other) => one - other)[Math.floor(sameWorkTimes / 2)]! / sameWorkMs)
  }

  async assertShort(how: string, through: (step: Step) => Promise<void>): Promise<void> {
    let longest = 0
    let mostMs = workMaxMs
    const step: Step = async (act) => {
      const before = await this.#done()
      await act()
      await this.#page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
      longest = Math.max(longest, (await this.#done()) - before)
    }
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      longest = 0
      const slowness = await this.#slowness()
      await through(step)
      assert.isAbove(longest, 0)
      mostMs = workMaxMs * Math.max(slowness, await this.#slowness())
      if (longest < mostMs) return
    }
    assert.isBelow(longest, mostMs, `CPU milliseconds of the longest step ${how}`)
  }
}
