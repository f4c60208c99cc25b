/** Live output of an operation: each byte once, over lost connections, until the end. */
import { useEffect, useState } from "preact/hooks"
import type { Operation, OutputStream } from "../../../../schemas/Operation.ts"
import { queryOf } from "../api.ts"
import { type FeedState, follow } from "../feed.ts"
import { keptBytes, type Piece, StreamTail } from "./StreamTail.ts"

export interface ShownStream {
  readonly pieces: ReadonlyArray<Piece>
  /** Received bytes, shown or not. */
  readonly bytes: number
}

export interface FollowedOutput {
  readonly stdout: ShownStream
  readonly stderr: ShownStream
  readonly feed: FeedState
  /** Epoch milliseconds of the last event. */
  readonly at: number | null
  /** Set once all output has arrived; null: more may follow. */
  readonly ended: Operation | null
}

interface OutputEvent {
  readonly stream: OutputStream
  readonly offset: number
  readonly data: string
}

/** Output within this time is shown together. */
const showEveryMs = 100

const bytesOf = (base64: string): Uint8Array => {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}

const none: ShownStream = { pieces: [], bytes: 0 }
const nothing: FollowedOutput = {
  stdout: none,
  stderr: none,
  feed: { state: "connecting" },
  at: null,
  ended: null
}

/** Requests only the bytes that the page keeps. */
const tailOf = (bytes: number): StreamTail => new StreamTail(Math.max(0, bytes - keptBytes))

export type Known = Pick<Operation["output"], "stdoutBytes" | "stderrBytes">

const followOutput = (
  path: string,
  { stdoutBytes, stderrBytes }: Known = { stdoutBytes: 0, stderrBytes: 0 },
  show: (change: Partial<FollowedOutput>) => void
): (() => void) => {
  const abort = new AbortController()
  const tails = { stdout: tailOf(stdoutBytes), stderr: tailOf(stderrBytes) }
  const shown = ({ pieces, end }: StreamTail): ShownStream => ({ pieces: [...pieces], bytes: end })
  let timer: ReturnType<typeof setTimeout> | null = null
  const showNow = (change: Partial<FollowedOutput> = {}) => {
    clearTimeout(timer ?? undefined)
    timer = null
    show({ stdout: shown(tails.stdout), stderr: shown(tails.stderr), at: Date.now(), ...change })
  }
  void follow(
    `${path}/output/stream`,
    {
      began: () => {},
      event: (data, name) => {
        if (name === "operation") {
          for (const tail of Object.values(tails)) tail.finish()
          showNow({ ended: (data as { readonly operation: Operation }).operation })
          abort.abort()
          return
        }
        const { stream, offset, data: base64 } = data as OutputEvent
        tails[stream].append(offset, bytesOf(base64))
        timer ??= setTimeout(showNow, showEveryMs)
      },
      changed: (feed) => show({ feed })
    },
    abort.signal,
    () => queryOf({ stdoutOffset: tails.stdout.end, stderrOffset: tails.stderr.end })
  )
  return () => {
    abort.abort()
    clearTimeout(timer ?? undefined)
  }
}

/** @param path Its output is at `/output` there. @param known How much there is already; absent: unknown. */
export const useOutput = (path: string, known: Known | undefined): FollowedOutput => {
  const [output, setOutput] = useState<FollowedOutput>(nothing)
  useEffect(() => {
    let isShown = true
    setOutput(nothing)
    const end = followOutput(path, known, (change) => {
      if (isShown) setOutput((before) => ({ ...before, ...change }))
    })
    return () => {
      isShown = false
      end()
    }
  }, [path])
  return output
}
