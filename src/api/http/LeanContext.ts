/**
 * Small contexts for requests.
 *
 * Effect's HttpApi runs every handler in a copy of the request's context merged with its group's context, so a request pays for
 * each service in either. Handlers get their services when they are built; a request needs only the references:
 * log level, loggers, tracer. Measured with 38 services in both: a fifth of the time of an authenticated GET.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Authorized, FromConsole, Open, Operating, SignedIn } from "../../../schemas/Access.ts"

const isService =
  /^(?:atoll\/|@effect\/|~effect\/|effect\/(?:sql|cluster|http|process|FileSystem|Path|Crypto|Terminal))/

/** A copy without the services, except those in `kept`. */
const lean = <R>(full: Context.Context<R>, kept: ReadonlyArray<{ readonly key: string }>): Context.Context<R> => {
  const keys = new Set(kept.map(({ key }) => key))
  return Context.makeUnsafe(new Map([...full.mapUnsafe].filter(([key]) => !isService.test(key) || keys.has(key))))
}

/** Runs the effect without services: for code that starts the fibers that serve requests. */
export const withoutServices = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(effect, (full: Context.Context<R>) => lean(full, []))

/** HttpApiBuilder.group for handlers that get their services with `yield* Service` while they are built, and none later. */
export const leanGroup = ((api: never, identifier: never, build: (handlers: never) => unknown) =>
  Layer.effectContext(
    Effect.contextWith((full: Context.Context<never>) => {
      const group = HttpApiBuilder.group(api, identifier, ((handlers: never) => {
        const built = build(handlers)
        return Effect.isEffect(built) ? Effect.provideContext(built as Effect.Effect<unknown>, full) : built
      }) as never)
      return Effect.updateContext(Layer.build(group), (context: Context.Context<Scope.Scope>) =>
        lean(context, [Authorized, Open, SignedIn, FromConsole, Operating])
      )
    })
  )) as unknown as typeof HttpApiBuilder.group
