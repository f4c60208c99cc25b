/** What axe-core finds wrong with a page, one sentence each. */
import axe from "axe-core"
import type { Page } from "playwright-core"

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

interface Looked {
  /** A selector; by default, all of the page. */
  readonly within?: string
  /** By default, all of them. */
  readonly rules?: ReadonlyArray<string>
}

export const violations = async (
  page: Page,
  { within = ":root", rules }: Looked = {}
): Promise<ReadonlyArray<string>> => {
  // Half a megabyte, which a document is given once.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(axe.source)
  const options = { resultTypes: ["violations"], ...(rules === undefined ? {} : { runOnly: rules }) }
  const found = (await page.evaluate(`axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`)) as {
    readonly violations: ReadonlyArray<Violation>
  }
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`)
  )
}
