/** `atoll images delete` */
import { command } from "../Command.ts"
import { sayMore } from "../documentation.ts"
import { exitCodes, sentenceOf } from "../failure.ts"
import { namedImage } from "../namedImage.ts"
import { plain } from "../plainText.ts"
import { answer, remark } from "../standardStreams.ts"

/** The time in which the service does it. */
const patienceSeconds = 60

export const remove = command({
  name: "delete",
  summary: "Delete images, for good",
  usage: "IMAGE…",
  details: "Nothing is asked. One that a Sandbox or a snapshot has is refused.",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["image"] },
  examples: [["images delete tools img_01kqv5v3s8e2r9w0t7c4m6n1ab", "By name and by id"]],
  run: async (given) => {
    const atoll = given.connect(patienceSeconds)
    const faults: Array<unknown> = []
    const done = await Promise.all(
      given.words.map(async (nameOrId) => {
        try {
          const image = await namedImage(atoll, nameOrId)
          await image.delete()
          return [(await image.refresh()).record]
        } catch (thrown) {
          const said = sentenceOf(thrown, atoll.api.url.origin)
          remark(given.words.length === 1 ? said : `${nameOrId}: ${said}`)
          faults.push(thrown)
          return []
        }
      })
    )
    const images = done.flat()
    const prose = () =>
      images.map(({ id, name }) => `${id}${name === null ? "" : ` (${plain(name)})`} is deleted.`).join("\n")
    await answer(given, prose, { images })
    sayMore(given, faults)
    return faults.length === 0 ? exitCodes.done : exitCodes.refused
  }
})
