/**
 * QEMU's way to save and load a machine, which it calls migration.
 *
 * @source QEMU docs/devel/migration/main.rst, mapped-ram.rst; qapi/migration.json
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { SAVING_THREADS } from "./parallelSave.ts"
import type { Qmp, QmpEvent } from "./Qmp.ts"

const MIGRATION_TIMEOUT_MS = 60_000
/** QEMU stops a machine when it expects to write the rest of its memory within this time. */
const DOWNTIME_MS = 50
const STANDING_POLL_MS = 5
const PASS_POLL_MS = 5
/** What QEMU writes about as long as a guest needs to stop its programs. */
const LAST_BYTES = 160 * 1024 ** 2

const migrationEnded = ({ event, data }: QmpEvent) =>
  event === "MIGRATION" && (data["status"] === "completed" || data["status"] === "failed")

export interface Move {
  readonly memoryIsShared: boolean
  /** Whether several threads save it, see parallelSave.ts. */
  readonly byThreads?: boolean
  readonly running?: RunningSave | undefined
}

/** How a machine is saved that runs until its last changes are to be saved. */
export interface RunningSave {
  /** It is stopped so long after `mayStop` at the latest, in ms. */
  readonly stopWithinMs: number
  /** Never rejects. */
  readonly mayStop: Promise<void>
  /** Called when little of its memory is still to be written. It is stopped once that is over, or before where QEMU has nothing more to write. */
  readonly beforeStop: () => Promise<void>
}

/** So slow that QEMU expects no page to be written while a machine stands: it stops none by itself unless nothing is left to write. In bytes a second. */
const NO_SPEED = Math.floor((4096 * 1000) / DOWNTIME_MS)

const saidRemaining = Schema.decodeUnknownOption(
  Schema.Struct({ status: Schema.Literal("active"), ram: Schema.Struct({ remaining: Schema.Finite }) })
)

/** Has QEMU stop the machine once `beforeStop` is over, which is called when the memory is almost written. Returns what gives up the wait. */
const stopNearEnd = async (qmp: Qmp, { beforeStop, stopWithinMs, mayStop }: RunningSave) => {
  // QEMU before 8.2 has no such parameter: there a machine that changes little may be stopped early.
  await qmp.execute("migrate-set-parameters", { "avail-switchover-bandwidth": NO_SPEED }).catch(() => {})
  let isAsked = false
  let isGivenUp = false
  const stop = () => {
    if (isAsked || isGivenUp) return
    isAsked = true
    void beforeStop()
      .catch(() => {})
      // Later it would stop a machine that goes on again.
      .then(() => (isGivenUp ? null : qmp.execute("stop")))
      .catch(() => {})
  }
  const unlisten = qmp.listen(({ event, data }) => {
    if (event === "MIGRATION_PASS" && Number(data["pass"]) >= 2) stop()
  })
  // A guest that changes its memory faster than it is written would never be saved.
  let timer: NodeJS.Timeout | undefined
  void mayStop.then(() => {
    if (!isGivenUp) timer = setTimeout(() => void qmp.execute("stop").catch(() => {}), stopWithinMs)
  })
  const watch = async () => {
    while (!isAsked && !isGivenUp) {
      await sleep(PASS_POLL_MS)
      const said = Option.getOrNull(saidRemaining(await qmp.execute("query-migrate")))
      if (said !== null && said.ram.remaining <= LAST_BYTES) stop()
    }
  }
  void watch().catch(() => {})
  return () => {
    isGivenUp = true
    clearTimeout(timer)
    unlisten()
  }
}

const saidWhy = Schema.decodeUnknownOption(Schema.Struct({ "error-desc": Schema.String }))

/** Why QEMU could not save or load. */
const migrationFault = async (qmp: Qmp): Promise<string> => {
  const said = saidWhy(await qmp.execute("query-migrate").catch(() => null))
  return Option.match(said, { onNone: () => "", onSome: (it) => `: ${it["error-desc"]}` })
}

const saidToStand = Schema.decodeUnknownSync(Schema.Struct({ status: Schema.String }))

/** QEMU reports a save as completed a moment before the machine may go on: until then it refuses `cont`. */
const untilStanding = async (qmp: Qmp) => {
  const end = performance.now() + MIGRATION_TIMEOUT_MS
  while (saidToStand(await qmp.execute("query-status")).status === "finish-migrate" && performance.now() < end) {
    await sleep(STANDING_POLL_MS)
  }
}

/** Saves or loads the memory and devices of a machine. A saved one stands still afterwards; where this rejects, it may stand or run. */
export const migrate = async (
  qmp: Qmp,
  command: "migrate" | "migrate-incoming",
  file: string,
  { memoryIsShared: ignoreShared, byThreads = false, running }: Move
) => {
  const capabilities = qmp.execute("migrate-set-capabilities", {
    capabilities: [
      { capability: "events", state: true },
      { capability: "x-ignore-shared", state: ignoreShared }
    ]
  })
  // Writes each page at a fixed offset, in long runs instead of page by page. QEMU before 9.0 lacks this and uses the old format.
  const atOffsets = async () => {
    const wanted = [
      { capability: "mapped-ram", state: true },
      { capability: "multifd", state: byThreads }
    ]
    if (!ignoreShared) await qmp.execute("migrate-set-capabilities", { capabilities: wanted }).catch(() => {})
  }
  const parameters = {
    "max-bandwidth": 64 * 1024 ** 3,
    "downtime-limit": DOWNTIME_MS,
    "multifd-channels": SAVING_THREADS
  }
  // QEMU carries out what it is sent in that order.
  await Promise.all([
    capabilities,
    atOffsets(),
    command === "migrate" ? qmp.execute("migrate-set-parameters", parameters) : null
  ])
  const unwatch = running === undefined ? null : await stopNearEnd(qmp, running)
  try {
    const ended = qmp.next(migrationEnded, MIGRATION_TIMEOUT_MS)
    ended.catch(() => {})
    await qmp.execute(command, { uri: `file:${file}` })
    const { data } = await ended
    if (data["status"] === "failed")
      throw new Error(`QEMU could not move the machine's state${await migrationFault(qmp)}`)
  } finally {
    unwatch?.()
  }
  if (command === "migrate") await untilStanding(qmp)
}
