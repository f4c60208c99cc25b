/**
 * What a page works for each step of something, until it is painted: CPU time of its own thread, scripts, layout and paint. A machine that is
 * busy with other things makes frames late, which is not the page's doing (`npm run bench -- console` has their times); but even CPU time grows
 * where others take the caches away, so a part of which a step was long is done again.
 */
import { assert } from "@effect/vitest"
import type { CDPSession, Page } from "playwright-core"

/** Of a frame that nobody feels. */
const workMaxMs = 50
const attemptsMax = 4

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

  async assertShort(how: string, through: (step: Step) => Promise<void>): Promise<void> {
    let longest = 0
    const step: Step = async (act) => {
      const before = await this.#done()
      await act()
      await this.#page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
      longest = Math.max(longest, (await this.#done()) - before)
    }
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      longest = 0
      await through(step)
      assert.isAbove(longest, 0)
      if (longest < workMaxMs) return
    }
    assert.isBelow(longest, workMaxMs, `CPU milliseconds of the longest step ${how}`)
  }
}
