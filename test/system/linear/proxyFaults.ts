/** Faults of a service, as a proxy before it shows them. Each answers a request with the help of the true service. */
import { setTimeout as sleep } from "node:timers/promises"

import { reachedPage } from "./visits.ts"

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: NodeJS.Dict<string | ReadonlyArray<string>>
  readonly body: Buffer
}

export interface Answered {
  readonly status: number
  readonly headers: NodeJS.Dict<string | ReadonlyArray<string>>
  readonly body: Buffer
}

/** Null: the true answer. `note`: counts that an answer is wrong. */
type Fault = (asked: Asked, forward: (asked: Asked) => Promise<Answered>, note: () => void) => Promise<Answered> | null

const staleForMs = 1_000
const lateByMs = 300
const oneIn = 4
const cutBytes = 10
const blockBytes = 512
const sandboxPath = /^\/api\/v2\/sandboxes\/[^/?]+$/
const snapshotPath = /^\/api\/v2\/snapshots\/[^/?]+$/

/** Sandboxes, or snapshots, are read from a cache that is up to a second old. */
const staleReadsOf = (path: RegExp) => (): Fault => {
  const cache = new Map<string, { readonly answer: Answered; readonly at: number }>()
  return (asked, forward, note) => {
    const { method, url } = asked
    if (method !== "GET" || !path.test(url)) return null
    const known = cache.get(url)
    if (known !== undefined && Date.now() - known.at < staleForMs) {
      note()
      return Promise.resolve(known.answer)
    }
    return forward(asked).then((answer) => {
      cache.set(url, { answer, at: Date.now() })
      return answer
    })
  }
}

const staleReads = staleReadsOf(sandboxPath)
const staleSnapshots = staleReadsOf(snapshotPath)

/** The write of a file is acknowledged, and done a little later. */
const earlyAnswers = (): Fault => (asked, forward, note) => {
  if (asked.method !== "PUT") return null
  note()
  void sleep(lateByMs).then(() => forward(asked).catch(() => {}))
  return Promise.resolve({ status: 204, headers: { "x-request-id": "early" }, body: Buffer.alloc(0) })
}

/** A change that was answered is undone, as if the service had crashed before its commit. */
const lostChanges = (): Fault => {
  let count = 0
  return (asked, forward, note) => {
    const isChosen = asked.method === "PATCH" && sandboxPath.test(asked.url) && count++ % oneIn === 0
    if (!isChosen) return null
    const { url, headers } = asked
    return (async () => {
      const before = await forward({
        method: "GET",
        url,
        headers: { authorization: headers["authorization"] },
        body: Buffer.alloc(0)
      })
      const answer = await forward(asked)
      if (answer.status !== 200 || before.status !== 200) return answer
      const { name, metadata } = JSON.parse(before.body.toString()).sandbox
      note()
      await forward({ ...asked, body: Buffer.from(JSON.stringify({ name, metadata })) })
      return answer
    })()
  }
}

/** The entries of a simple archive by their names: each a header and its content. */
const entriesOf = (archive: Buffer): ReadonlyMap<string, Buffer> => {
  const entries = new Map<string, Buffer>()
  for (let at = 0; archive[at] !== undefined && archive[at] !== 0; ) {
    const size = Number.parseInt(archive.toString("latin1", at + 124, at + 135), 8)
    const end = at + blockBytes + Math.ceil(size / blockBytes) * blockBytes
    entries.set(archive.toString("latin1", at, archive.indexOf(0, at)), archive.subarray(at, end))
    at = end
  }
  return entries
}

/** One file of an archive is that of the first archive: it shows two moments. */
const mixedArchives = (): Fault => {
  const earlier = new Map<string, ReadonlyMap<string, Buffer>>()
  return (asked, forward, note) => {
    const { method, url } = asked
    if (method !== "GET" || !url.includes("/files/archive")) return null
    return forward(asked).then((answer) => {
      if (answer.status !== 200) return answer
      const entries = entriesOf(answer.body)
      const [name, old] = [...(earlier.get(url) ?? [])][0] ?? []
      if (!earlier.has(url) && entries.size > 0) earlier.set(url, entries)
      const present = name === undefined ? undefined : entries.get(name)
      if (name === undefined || old === undefined || present === undefined || present.equals(old)) return answer
      note()
      const end = Buffer.alloc(2 * blockBytes)
      return { ...answer, body: Buffer.concat([...new Map([...entries, [name, old]]).values(), end]) }
    })
  }
}

/** A preview that was reached seems to be reached after it was closed, too. */
const latePreviews = (): Fault => {
  const reached = new Map<unknown, Answered>()
  return (asked, forward, note) => {
    const { host } = asked.headers
    if (asked.url.startsWith("/api/")) return null
    return forward(asked).then((answer) => {
      if (answer.body.toString().startsWith(reachedPage)) reached.set(host, answer)
      const known = reached.get(host)
      if (answer.status !== 404 || known === undefined) return answer
      note()
      return known
    })
  }
}

/** The output of an execute ends early. */
const cutOutput = (): Fault => {
  let count = 0
  return (asked, forward, note) => {
    if (!asked.url.endsWith("/execute") || count++ % oneIn !== 0) return null
    return forward(asked).then((answer) => {
      if (answer.status !== 200) return answer
      const { result } = JSON.parse(answer.body.toString())
      note()
      const cut = { ...result, stdout: result.stdout.slice(0, -cutBytes) }
      return { ...answer, body: Buffer.from(`${JSON.stringify({ result: cut })}\n`) }
    })
  }
}

/** What is wrong with its streams is wrong in `FaultyProxy`. */
const skippedEvents = (): Fault => () => null

export const faults = {
  staleReads,
  staleSnapshots,
  earlyAnswers,
  lostChanges,
  mixedArchives,
  latePreviews,
  skippedEvents,
  cutOutput
}
export type ProxyFault = keyof typeof faults
