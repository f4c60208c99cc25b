/** What axe-core finds wrong with a page, one sentence each. */
import axe from "axe-core"
import type { Page } from "playwright-core"

interface Reason {
  readonly message: string
}

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{
    readonly html: string
    readonly any: ReadonlyArray<Reason>
    readonly all: ReadonlyArray<Reason>
    readonly none: ReadonlyArray<Reason>
  }>
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
  // What passed is read by nobody.
  const options = { reporter: "no-passes", ...(rules === undefined ? {} : { runOnly: rules }) }
  const found = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)}).then(({ violations }) => violations)`
  )) as ReadonlyArray<Violation>
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any, all, none }) => {
      const reasons = [...any, ...all, ...none].map(({ message }) => message)
      return `${id}: ${html}: ${reasons.join("; ")}`
    })
  )
}
