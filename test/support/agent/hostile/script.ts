/** What a hostile agent is told to do with every request: plain data, for it is another process. */

export interface Piece {
  /** Base64. */
  readonly bytes: string
  /** How often; absent: once; `forever` until the service has had enough. */
  readonly times?: number | "forever"
}

export interface Script {
  /** `http`: answers requests. The others are no answers at all, see main.ts. */
  readonly as: "http" | "garbage" | "silence" | "pings" | "settings" | "nothing after the connection"
  readonly status?: number
  /** It refuses with TOO_MANY_PROCESSES what would be more at a time. */
  readonly atMost?: number
  /** Milliseconds before the answer begins, and between its head and its body. */
  readonly after?: number
  readonly bodyAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: ReadonlyArray<Piece>
  /** Default `end`. */
  readonly afterwards?: "end" | "hang" | "reset" | "destroy" | "goaway"
  /** What it does instead with requests of these paths. */
  readonly at?: Readonly<Record<string, Script>>
  /** Heads that are none, before the head: 103. */
  readonly earlyHeads?: number
}

export const bytes = (value: Uint8Array | string, times?: Piece["times"]): Piece => ({
  bytes: Buffer.from(value as string).toString("base64"),
  ...(times === undefined ? {} : { times })
})
