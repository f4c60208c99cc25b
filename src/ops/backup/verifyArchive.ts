/** Reads a whole archive and checks it, without writing anything: before a restore, and after a backup of the operator's page. */
import { Schema } from "effect"
import { migrations } from "../../store/Migrations.ts"
import { ArchiveHeader, type Frame, framesOf } from "./Archive.ts"
import { ArchiveUnusable } from "./ArchiveUnusable.ts"
import type { Progress } from "./Progress.ts"

export const parseFrame = <A>(schema: Schema.Decoder<A>, { bytes }: Frame): A =>
  Schema.decodeUnknownSync(schema)(JSON.parse(bytes.toString()))

/** Throws ArchiveUnusable when the archive is damaged, or of a newer Atoll. @param bytes The size of the file. */
export const verifyArchive = async (path: string, progress: Progress, bytes: number) => {
  const frames = framesOf(path, (read) => progress("verified", read, bytes))
  let header: ArchiveHeader | null = null
  let next = await frames.next()
  for (; next.done !== true; next = await frames.next()) {
    if (next.value.kind === "header") header = parseFrame(ArchiveHeader, next.value)
  }
  if (header === null) throw new ArchiveUnusable({ message: `${path} is no backup of Atoll.` })
  const known = Object.keys(migrations).map((name) => Number(name.slice(0, 4)))
  const unknown = header.steps.filter((step) => !known.includes(step))
  if (unknown.length > 0) {
    throw new ArchiveUnusable({
      message: `${path} was written by a newer Atoll (its step ${Math.max(...unknown)} is unknown here). Restore it with that version.`
    })
  }
  return { header, end: next.value }
}
