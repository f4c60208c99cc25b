/** `atoll snapshots delete` */
import { command } from "../Command.ts"
import { sayMore } from "../documentation.ts"
import { exitCodes, sentenceOf } from "../failure.ts"
import { namedSnapshot } from "../namedSnapshot.ts"
import { plain } from "../plainText.ts"
import { answer, remark } from "../standardStreams.ts"

/** The time in which the service does it. */
const patienceSeconds = 60

export const remove = command({
  name: "delete",
  summary: "Delete snapshots, for good",
  usage: "SNAPSHOT…",
  details: "Nothing is asked. Sandboxes that were made of it keep their volumes.",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["snapshot"] },
  examples: [["snapshots delete before-migration snp_01kqv5v3s8e2r9w0t7c4m6n1ab", "By name and by id"]],
  run: async (given) => {
    const atoll = given.connect(patienceSeconds)
    const faults: Array<unknown> = []
    const done = await Promise.all(
      given.words.map(async (nameOrId) => {
        try {
          const snapshot = await namedSnapshot(atoll, nameOrId)
          await snapshot.delete()
          return [(await snapshot.refresh()).record]
        } catch (thrown) {
          const said = sentenceOf(thrown, atoll.api.url.origin)
          remark(given.words.length === 1 ? said : `${nameOrId}: ${said}`)
          faults.push(thrown)
          return []
        }
      })
    )
    const snapshots = done.flat()
    const prose = () =>
      snapshots.map(({ id, name }) => `${id}${name === null ? "" : ` (${plain(name)})`} is deleted.`).join("\n")
    await answer(given, prose, { snapshots })
    sayMore(given, faults)
    return faults.length === 0 ? exitCodes.done : exitCodes.refused
  }
})
