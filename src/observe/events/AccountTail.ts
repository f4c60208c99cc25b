/** The end of one account's order of commits, as this process follows it: read once, and passed to the channels that have readers. */
import type { TransitionPage, TransitionPosition } from "../../store/TransitionReads.ts"
import { Channel } from "./Channel.ts"
import { FeedLag } from "./FeedLag.ts"
import { frameOf } from "./Frame.ts"

export class AccountTail {
  readonly accountId: string
  readonly era: string
  /** By Sandbox id; "" for the whole account. */
  readonly channels = new Map<string, Channel>()
  /** Everything up to here is in the channels. Null until the first read. */
  upTo: TransitionPosition | null = null

  /** Streams that are being opened on it. */
  opening = 0

  readonly lag = new FeedLag()

  constructor(accountId: string, era: string) {
    this.accountId = accountId
    this.era = era
  }

  /** Returns the channel, and creates it on first use; `upTo` must be known. */
  channel(sandboxId: string | null): Channel {
    const key = sandboxId ?? ""
    const known = this.channels.get(key)
    if (known !== undefined) return known
    const channel = new Channel(this.upTo!)
    this.channels.set(key, channel)
    return channel
  }

  take(page: TransitionPage): void {
    this.upTo = page.upTo
    const touched = new Set<Channel>()
    for (const row of page.rows) {
      const whole = this.channels.get("")
      const own = this.channels.get(row.sandboxId)
      if (whole === undefined && own === undefined) continue
      const frame = frameOf(this, row)
      for (const channel of [whole, own]) {
        if (channel === undefined) continue
        channel.push(frame)
        touched.add(channel)
      }
    }
    for (const channel of touched) for (const reader of [...channel.readers]) reader.look()
  }
}
