import { pathToFileURL } from "node:url"
import { compiledOnce } from "./compiledOnce.ts"

/** Where a test run says what its programs load first. */
export const bundledProgramsVariable = "ATOLL_TEST_PROGRAMS"

const enter = process.env[bundledProgramsVariable]

/** For the environment of a service or an operator's command line that a test starts: its sources as a few files. */
export const bundledOnce = {
  ...compiledOnce,
  // As a URL no path has spaces, at which Node would divide it.
  ...(enter === undefined ? {} : { NODE_OPTIONS: `--import=${pathToFileURL(enter).href}` })
}
