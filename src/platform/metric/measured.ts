/** Metrics whose value is read from elsewhere when metrics are requested: nothing is counted twice, and no work is done in between. */
import { Context, Effect, Metric, type Scope } from "effect"

const context = Context.empty()
const ignore = (): void => {}

/** Registers the metric until the scope closes. A later one of the same name and attributes replaces it. */
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

/** @param read Cheap, never throws, and never decreases. */
export const measuredCounter = (counter: Metric.Counter<number>, read: () => number) =>
  registered(counter, () => ({ count: read(), incremental: true }))
