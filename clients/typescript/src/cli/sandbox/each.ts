/** Does one thing to each of several Sandboxes: a failure for one is reported, and the others are done all the same. */
import type { Sandbox } from "../../Sandbox.ts"
import type { Given } from "../Command.ts"
import { sayMore } from "../documentation.ts"
import { exitCodes, sentenceOf } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { plain } from "../plainText.ts"
import { answer, remark } from "../standardStreams.ts"

/** The time in which the service does it. */
const patienceSeconds = 60

/** @param past `stopped`: the word that reports success. */
export const each = async (
  given: Given,
  past: string,
  act: (sandbox: Sandbox) => Promise<unknown>
): Promise<number> => {
  const atoll = given.connect(patienceSeconds)
  const faults: Array<unknown> = []
  const done = await Promise.all(
    given.words.map(async (nameOrId) => {
      try {
        const sandbox = await namedSandbox(atoll, nameOrId)
        await act(sandbox)
        return [sandbox]
      } catch (thrown) {
        const said = sentenceOf(thrown, atoll.api.url.origin)
        remark(given.words.length === 1 ? said : `${nameOrId}: ${said}`)
        faults.push(thrown)
        return []
      }
    })
  )
  const sandboxes = done.flat().map(({ record }) => record)
  await answer(
    given,
    () => sandboxes.map(({ id, name }) => `${id}${name === null ? "" : ` (${plain(name)})`} ${past}.`).join("\n"),
    {
      sandboxes
    }
  )
  sayMore(given, faults)
  return faults.length === 0 ? exitCodes.done : exitCodes.refused
}
