/** Which commands of the documents the test types, and in which order. */
import { reasonsFor } from "./notRun.ts"
import { type Shown, shown } from "./shown.ts"

/** It ends everything. */
const last = "Uninstalling"

const places: ReadonlyArray<readonly [what: RegExp, before: RegExp]> = [
  // While there is a preview.
  [/NAME:8080/, /\$SBX\/stop$/],
  // The first hour ended with the end of Atoll.
  [/^npm start$/, /^U=/],
  // While there is a Sandbox.
  [/\/mcp -d /, /\$SBX\/transitions$/]
]

/**
 * In the documents' order; but some have their place elsewhere, and those that end everything come last. A command that
 * is shown several times is typed once, where a block shows it last, else where it is named first.
 */
export const toType: ReadonlyArray<Shown> = (() => {
  const once = shown.filter((one) => {
    const same = shown.filter(({ command }) => command === one.command)
    return one === (same.findLast(({ place }) => place === "block") ?? same[0]) && reasonsFor(one).length === 0
  })
  const late = once.filter(({ section }) => section === last)
  const early = once.filter(({ command }) => places.some(([what]) => what.test(command)))
  return once
    .filter((one) => !late.includes(one) && !early.includes(one))
    .flatMap((one) => {
      const before = places.filter(([, at]) => once.find(({ command }) => at.test(command)) === one)
      return [...early.filter(({ command }) => before.some(([what]) => what.test(command))), one]
    })
    .concat(late)
})()
