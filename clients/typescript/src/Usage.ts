/** Usage, costs and remaining credit. */
import type { Balance, CostReport, Usage as UsageRecord, WalletTransaction } from "./generated/schemas.ts"
import { paged } from "./http/paged.ts"
import type { Transport } from "./http/Transport.ts"
import type { Waiting } from "./Waiting.ts"

export interface Window extends Waiting {
  /** RFC 3339. By default this month. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export class Usage {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  async read({ from, to, ...options }: Window = {}): Promise<UsageRecord> {
    return (await this.#transport.call("readUsage", { parameters: { from, to }, ...options })).usage
  }

  async balance(options: Waiting = {}): Promise<Balance> {
    return (await this.#transport.call("readBalance", options)).balance
  }

  async costs({
    from,
    to,
    groupBy,
    sandboxId,
    ...options
  }: Window & {
    readonly groupBy?: "sandbox" | "day" | "workspace" | undefined
    readonly sandboxId?: string | undefined
  } = {}): Promise<CostReport> {
    return this.#transport.call("readCosts", { parameters: { from, to, groupBy, sandboxId }, ...options })
  }

  /** Newest first; requests the next page by itself. */
  async *transactions(options: Waiting = {}): AsyncGenerator<WalletTransaction, void, undefined> {
    const pages = paged((cursor) =>
      this.#transport.call("listTransactions", {
        parameters: { cursor },
        ...options
      })
    )
    for await (const page of pages) yield* page.transactions
  }
}
