/**
 * QEMU saves a memory by several threads (`multifd`), which takes two thirds of the time.
 *
 * QEMU 10.0.2 sometimes ends by a segmentation fault when such a save is cancelled (about one time in fifteen) or when the disk is full (one in a hundred).
 * So none is cancelled, and none begins where the disk might become full meanwhile.
 *
 * @source QEMU docs/devel/migration/mapped-ram.rst; qapi/migration.json multifd
 */
import { statfs } from "node:fs/promises"
import { Option, Schema } from "effect"
import type { Qmp } from "./Qmp.ts"

/** More threads than processors that are idle make it slower again. */
export const SAVING_THREADS = 2
/** How often the memory must fit into what is free: others write meanwhile, too. */
const ROOM_TIMES = 2
const ROOM_MIN_BYTES = 1024 ** 3

/** Whether the disk has so much room that it cannot become full within a save. */
export const hasRoomForThreads = async (folder: string, memoryBytes: number): Promise<boolean> => {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize >= ROOM_TIMES * memoryBytes + ROOM_MIN_BYTES
}

const decodeCapabilities = Schema.decodeUnknownOption(
  Schema.Array(Schema.Struct({ capability: Schema.String, state: Schema.Boolean }))
)

/** Has a save end that may go on: one by several threads is completed, for which the machine stands still; another is cancelled. */
export const endSave = async (qmp: Qmp): Promise<void> => {
  const capabilities = Option.getOrElse(decodeCapabilities(await qmp.execute("query-migrate-capabilities")), () => [])
  const hasThreads = capabilities.some(({ capability, state }) => capability === "multifd" && state)
  await qmp.execute(hasThreads ? "stop" : "migrate_cancel").catch(() => {})
}
