/** A hostile agent's script for every request: plain data, because the agent is another process. */

export interface Piece {
  /** Base64. */
  readonly bytes: string
  /** How often; absent: once; `forever` until the service cuts it off. */
  readonly times?: number | "forever"
}

export interface Script {
  /** `http`: answers requests. The others are no answers at all, see main.ts. */
  readonly as: "http" | "garbage" | "silence" | "pings" | "settings" | "nothing after the connection"
  readonly status?: number
  /** It refuses more concurrent requests with TOO_MANY_PROCESSES. */
  readonly atMost?: number
  /** Milliseconds before the answer begins, and between its head and its body. */
  readonly after?: number
  readonly bodyAfter?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: ReadonlyArray<Piece>
  /** Default `end`. */
  readonly afterwards?: "end" | "hang" | "reset" | "destroy" | "goaway"
  /** Its other script for requests of these paths. */
  readonly at?: Readonly<Record<string, Script>>
  /** Informational heads before the head: 103. */
  readonly earlyHeads?: number
}

export const bytes = (value: Uint8Array | string, times?: Piece["times"]): Piece => ({
  bytes: Buffer.from(value as string).toString("base64"),
  ...(times === undefined ? {} : { times })
})
