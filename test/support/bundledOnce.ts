import { pathToFileURL } from "node:url"
import { compiledOnce } from "./compiledOnce.ts"

/** Where a test run stores the file that its programs load first. */
export const bundledProgramsVariable = "ATOLL_TEST_PROGRAMS"

const enter = process.env[bundledProgramsVariable]

/** For the environment of a service or an operator's command line that a test starts: its sources as a few files. */
export const bundledOnce = {
  ...compiledOnce,
  // A URL, because Node would split a path with spaces.
  ...(enter === undefined ? {} : { NODE_OPTIONS: `--import=${pathToFileURL(enter).href}` })
}
