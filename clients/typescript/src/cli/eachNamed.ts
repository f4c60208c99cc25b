/** Does one thing to each of several named things: a failure for one is reported, and the others are done all the same. */
import type { Atoll } from "../Atoll.ts"
import type { Given } from "./Command.ts"
import { sayMore } from "./documentation.ts"
import { exitCodes, sentenceOf } from "./failure.ts"
import { plain } from "./plainText.ts"
import { answer, remark } from "./standardStreams.ts"

interface Named {
  readonly record: { readonly id: string; readonly name: string | null }
}

interface Deletable extends Named {
  readonly delete: () => Promise<void>
  readonly refresh: () => Promise<unknown>
}

/** The time in which the service does it. */
const patienceSeconds = 60

/**
 * @param field Of the answer in JSON.
 * @param past `stopped`: the words that report success.
 */
export const eachNamed = async <One extends Named>(
  given: Given,
  { field, past }: { readonly field: string; readonly past: string },
  named: (atoll: Atoll, nameOrId: string) => Promise<One>,
  act: (one: One) => Promise<unknown>
): Promise<number> => {
  const atoll = given.connect(patienceSeconds)
  const faults: Array<unknown> = []
  const done = await Promise.all(
    given.words.map(async (nameOrId) => {
      try {
        const one = await named(atoll, nameOrId)
        await act(one)
        return [one]
      } catch (thrown) {
        const said = sentenceOf(thrown, atoll.api.url.origin)
        remark(given.words.length === 1 ? said : `${nameOrId}: ${said}`)
        faults.push(thrown)
        return []
      }
    })
  )
  const records = done.flat().map(({ record }) => record)
  const prose = () =>
    records.map(({ id, name }) => `${id}${name === null ? "" : ` (${plain(name)})`} ${past}.`).join("\n")
  await answer(given, prose, { [field]: records })
  sayMore(given, faults)
  return faults.length === 0 ? exitCodes.done : exitCodes.refused
}

/** Deletes each of the named images or snapshots. */
export const deleteEach = <One extends Deletable>(
  given: Given,
  field: string,
  named: (atoll: Atoll, nameOrId: string) => Promise<One>
): Promise<number> =>
  eachNamed(given, { field, past: "is deleted" }, named, async (one) => {
    await one.delete()
    await one.refresh()
  })
