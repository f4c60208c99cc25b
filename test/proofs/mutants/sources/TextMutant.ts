/** A mistake in a source file that is no machine: one text, which the file has once, and what stands there instead. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

export interface TextMutant {
  /** The mistake, in words. */
  readonly id: string
  readonly file: string
  readonly from: string
  readonly to: string
  /** The test files that must see it, the cheapest first. */
  readonly suites: ReadonlyArray<string>
}

/** The file with the mistake. Throws if the text is not in it exactly once: then the file has changed, and this mutant must be written again. */
export const mutated = (root: string, { id, file, from, to }: TextMutant): string => {
  const [before, after, ...more] = readFileSync(join(root, file), "utf8").split(from)
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`"${id}": ${file} has its text ${after === undefined ? "nowhere" : "more than once"}: ${from}`)
  }
  return `${before}${to}${after}`
}
