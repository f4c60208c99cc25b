/**
 * A collector of the traces that other processes export, by OTLP over HTTP in JSON. They send a span once it has ended,
 * every few seconds.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import type { SpanSeen, SpansSeen } from "./SpanSeen.ts"

/** @source opentelemetry-proto, `trace.proto` and `common.proto` */
interface Export {
  readonly resourceSpans: ReadonlyArray<{
    readonly scopeSpans: ReadonlyArray<{
      readonly spans: ReadonlyArray<{
        readonly name: string
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        /** Each value under the name of its type. */
        readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Readonly<Record<string, unknown>> }>
      }>
    }>
  }>
}

export class SpanCollector implements SpansSeen {
  readonly seen: Array<SpanSeen> = []
  readonly #ways = new Map<string, () => ReadonlyArray<string>>()

  /** On every address of this machine, until the scope ends; returns its port. */
  readonly listen = Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = createServer(async (asked, answer) => {
          this.#take(JSON.parse(Buffer.concat(await asked.toArray()).toString()))
          answer.end("{}")
        }).listen(0, "0.0.0.0")
        await once(server, "listening")
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => (server.address() as AddressInfo).port
  )

  #take({ resourceSpans }: Export): void {
    for (const { scopeSpans } of resourceSpans) {
      for (const { name, traceId, spanId, parentSpanId, attributes } of scopeSpans.flatMap(({ spans }) => spans)) {
        const way = () => [
          name,
          ...(parentSpanId === undefined ? [] : (this.#ways.get(parentSpanId)?.() ?? [parentSpanId]))
        ]
        this.#ways.set(spanId, way)
        const values = new Map(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
        this.seen.push({ name, traceId, attributes: values, hasEnded: true, way })
      }
    }
  }
}
