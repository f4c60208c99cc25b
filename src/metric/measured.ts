/** Metrics whose value lies elsewhere and is read whenever somebody asks for them: nothing is counted twice, and nothing is done in between. */
import { Context, Effect, Metric, type Scope } from "effect"

const context = Context.empty()
const ignore = (): void => {}

/** Until the scope closes; a later one of the same name and attributes takes its place. */
const registered = <Input, State>(
  metric: Metric.Metric<Input, State>,
  get: () => State
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => Metric.registerUnsafe(metric, context, { get, update: ignore, modify: ignore })),
      ({ remove }) => Effect.sync(remove)
    )
  )

/** @param read Cheap, and never throws. */
export const measuredGauge = (gauge: Metric.Gauge<number>, read: () => number) =>
  registered(gauge, () => ({ value: read() }))

/** @param read Cheap, never throws, and never tells less than before. */
export const measuredCounter = (counter: Metric.Counter<number>, read: () => number) =>
  registered(counter, () => ({ count: read(), incremental: true }))
