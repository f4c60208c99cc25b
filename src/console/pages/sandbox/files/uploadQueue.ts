/** The queue of uploads into Sandboxes: one at a time, also while another part of the console is shown. */
import { signal } from "@preact/signals"
import { firstBytes } from "../../sendBytes.ts"
import { folderOf, within } from "./address.ts"
import { send, statOf } from "./write.ts"

export type UploadState =
  | { readonly state: "waiting" }
  | { readonly state: "sending"; readonly sent: number }
  /** A file of this name exists: waits for the user's decision. */
  | { readonly state: "asking" }
  | { readonly state: "done" }
  | { readonly state: "failed"; readonly fault: unknown }

export interface Upload {
  readonly id: number
  readonly sandboxId: string
  /** The target path. */
  readonly path: string
  readonly file: File
  readonly overwrite: boolean
  readonly now: UploadState
}

export const uploads = signal<ReadonlyArray<Upload>>([])

/** Counts ended uploads by folder: a shown folder is then out of date. */
export const arrivals = signal<ReadonlyMap<string, number>>(new Map())

export const arrivalsKey = (sandboxId: string, folder: string): string => `${sandboxId} ${folder}`

const tellEveryMs = 100

let lastId = 0
let isSending = false
const aborts = new Map<number, AbortController>()

const change = (id: number, changed: Partial<Upload>): void => {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...changed } : one))
}

const find = (id: number): Upload | undefined => uploads.value.find((one) => one.id === id)

/** Reported together, because each report reloads the shown folder. */
const tellArrivalsEveryMs = 1000
const untold = new Map<string, number>()
let arrivalsToldAt = 0

const tellArrivals = (): void => {
  if (untold.size === 0) return
  const all = new Map(arrivals.value)
  for (const [key, count] of untold) all.set(key, (all.get(key) ?? 0) + count)
  untold.clear()
  arrivalsToldAt = performance.now()
  arrivals.value = all
}

const arrived = ({ sandboxId, path }: Upload): void => {
  const key = arrivalsKey(sandboxId, folderOf(path))
  untold.set(key, (untold.get(key) ?? 0) + 1)
  if (performance.now() - arrivalsToldAt >= tellArrivalsEveryMs) tellArrivals()
}

const sendOne = async (upload: Upload): Promise<void> => {
  const { id, sandboxId, path, file, overwrite } = upload
  const abort = new AbortController()
  aborts.set(id, abort)
  change(id, { now: { state: "sending", sent: 0 } })
  try {
    await firstBytes(file, 1)
    const there = overwrite ? null : await statOf(sandboxId, path, abort.signal)
    if (there !== null && there.type === "directory") throw new Error("A folder with this name already exists.")
    if (there !== null) return change(id, { now: { state: "asking" } })
    let toldAt = 0
    const progress = (sent: number) => {
      if (performance.now() - toldAt < tellEveryMs) return
      toldAt = performance.now()
      change(id, { now: { state: "sending", sent: Math.min(sent, file.size) } })
    }
    await send({ sandboxId, path, file, overwrite, signal: abort.signal, progress })
    change(id, { now: { state: "done" } })
    arrived(upload)
  } catch (fault) {
    change(id, { now: { state: "failed", fault } })
  } finally {
    aborts.delete(id)
  }
}

const leaving = (event: BeforeUnloadEvent): void => event.preventDefault()

const sendAll = async (): Promise<void> => {
  if (isSending) return
  isSending = true
  addEventListener("beforeunload", leaving)
  for (;;) {
    const next = uploads.value.find(({ now }) => now.state === "waiting")
    if (next === undefined) break
    await sendOne(next)
  }
  tellArrivals()
  removeEventListener("beforeunload", leaving)
  isSending = false
}

export const upload = (sandboxId: string, folder: string, files: Iterable<File>): void => {
  const added = [...files].map(
    (file): Upload => ({
      id: ++lastId,
      sandboxId,
      path: within(folder, file.name),
      file,
      overwrite: false,
      now: { state: "waiting" }
    })
  )
  uploads.value = [...uploads.value, ...added]
  void sendAll()
}

/** Retries after a failure, or overwrites the existing file. */
export const sendAgain = (id: number, overwrite: boolean): void => {
  const one = find(id)
  if (one === undefined) return
  change(id, { overwrite: overwrite || one.overwrite, now: { state: "waiting" } })
  void sendAll()
}

/** Cancels a running upload; its partial data is deleted. */
export const dismiss = (id: number): void => {
  aborts.get(id)?.abort(new Error("Cancelled."))
  uploads.value = uploads.value.filter((one) => one.id !== id)
}

export const hideDone = (sandboxId: string): void => {
  uploads.value = uploads.value.filter((one) => one.sandboxId !== sandboxId || one.now.state !== "done")
}
