/** What axe-core finds wrong with a page, one sentence each. */
import axe from "axe-core"
import type { Page } from "playwright-core"

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

/** @param rules All of them, or those that are named. */
export const violations = async (
  page: Page,
  rules: ReadonlyArray<string> | null = null
): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe.source)
  const found = (await page.evaluate(`axe.run(${rules === null ? "" : JSON.stringify({ runOnly: rules })})`)) as {
    readonly violations: ReadonlyArray<Violation>
  }
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`)
  )
}
