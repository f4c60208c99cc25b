/** Deletes each of the named images or snapshots; what went wrong with one does not keep the others. */
import type { Atoll } from "../Atoll.ts"
import type { Given } from "./Command.ts"
import { sayMore } from "./documentation.ts"
import { exitCodes, sentenceOf } from "./failure.ts"
import { plain } from "./plainText.ts"
import { answer, remark } from "./standardStreams.ts"

interface Deletable<Record> {
  readonly record: Record
  readonly delete: () => Promise<void>
  readonly refresh: () => Promise<{ readonly record: Record }>
}

/** The time in which the service does it. */
const patienceSeconds = 60

/** @param field Of the answer in JSON. */
export const deleteEach = async <Record extends { readonly id: string; readonly name: string | null }>(
  given: Given,
  field: string,
  named: (atoll: Atoll, nameOrId: string) => Promise<Deletable<Record>>
): Promise<number> => {
  const atoll = given.connect(patienceSeconds)
  const faults: Array<unknown> = []
  const done = await Promise.all(
    given.words.map(async (nameOrId) => {
      try {
        const one = await named(atoll, nameOrId)
        await one.delete()
        return [(await one.refresh()).record]
      } catch (thrown) {
        const said = sentenceOf(thrown, atoll.api.url.origin)
        remark(given.words.length === 1 ? said : `${nameOrId}: ${said}`)
        faults.push(thrown)
        return []
      }
    })
  )
  const records = done.flat()
  const prose = () =>
    records.map(({ id, name }) => `${id}${name === null ? "" : ` (${plain(name)})`} is deleted.`).join("\n")
  await answer(given, prose, { [field]: records })
  sayMore(given, faults)
  return faults.length === 0 ? exitCodes.done : exitCodes.refused
}
