/** The service's names for completion: requested with a short time-out, and empty if it does not answer. */
import type { Atoll } from "../../Atoll.ts"
import { connect, credentialsInUse } from "../connection.ts"
import { kept as keptImages } from "../namedImage.ts"
import { namedSandbox, present } from "../namedSandbox.ts"
import { kept } from "../namedSnapshot.ts"
import type { Candidate, Known } from "./candidates.ts"

const withinMs = 2_000

/** A name that a shell takes as one plain word. */
const plainWord = /^[\w.-]+$/
const plainPath = /^[\w./@+,-]+$/

const briefly = async (
  ask: (atoll: Atoll, signal: AbortSignal) => Promise<ReadonlyArray<Candidate>>
): Promise<ReadonlyArray<Candidate>> => {
  try {
    return await ask(connect(credentialsInUse(undefined), 0), AbortSignal.timeout(withinMs))
  } catch {
    return []
  }
}

/** Its name where a shell takes that as a word. */
const candidate = ({
  id,
  name,
  status
}: {
  readonly id: string
  readonly name: string | null
  readonly status: string
}) => (name !== null && plainWord.test(name) ? { word: name, about: status } : { word: id, about: status })

export const known: Known = {
  sandboxes: () =>
    briefly(async (atoll, signal) => {
      const found: Array<Candidate> = []
      for await (const { record } of atoll.sandboxes.list({ status: present, signal })) found.push(candidate(record))
      return found
    }),
  images: () =>
    briefly(async (atoll, signal) => {
      const found: Array<Candidate> = []
      for await (const { record } of atoll.images.list({ status: keptImages, signal })) found.push(candidate(record))
      return found
    }),
  snapshots: () =>
    briefly(async (atoll, signal) => {
      const found: Array<Candidate> = []
      for await (const { record } of atoll.snapshots.list({ status: kept, signal })) found.push(candidate(record))
      return found
    }),
  remotePaths: (typed) =>
    briefly(async (atoll, signal) => {
      const [nameOrId = "", path = ""] = typed.split(":", 2)
      const folder = path.slice(0, path.lastIndexOf("/") + 1)
      const sandbox = await namedSandbox(atoll, nameOrId)
      const found: Array<Candidate> = []
      for await (const { name, type } of sandbox.files.list(folder === "/" ? folder : folder.replace(/\/$/, ""), {
        signal
      })) {
        if (plainPath.test(name)) {
          found.push({ word: `${nameOrId}:${folder}${name}${type === "directory" ? "/" : ""}`, about: type })
        }
      }
      return found
    })
}
