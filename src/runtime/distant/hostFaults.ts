/** Failures of calls to a host, as errors of `Runtime`. */
import { Cause, Effect, Option } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { shownProse } from "../agentClient/heldToShape.ts"
import { RuntimeRefused, RuntimeUnavailable, RuntimeUnsupported } from "../Runtime.ts"
import { FAULT_MAX_CHARS } from "./hostTold.ts"

type HostError = RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported

const cut = <T extends string>(text: T): T => shownProse(text, FAULT_MAX_CHARS) as T

/** With messages of bounded length. */
export const held = <E>(error: E): E =>
  (error instanceof RuntimeRefused
    ? new RuntimeRefused({ code: error.code, message: cut(error.message) })
    : error instanceof RuntimeUnavailable
      ? new RuntimeUnavailable({
          message: cut(error.message),
          ...(error.shown === undefined ? {} : { shown: cut(error.shown) })
        })
      : error instanceof RuntimeUnsupported
        ? new RuntimeUnsupported({ message: cut(error.message) })
        : error) as E

const isHostError = (error: unknown): error is HostError =>
  error instanceof RuntimeRefused || error instanceof RuntimeUnavailable || error instanceof RuntimeUnsupported

export const silence = RuntimeUnavailable.known(publicText`The host of the Sandbox does not answer.`)
const breach = RuntimeUnavailable.known(publicText`The host of the Sandbox broke its protocol.`)

/** Maps every failure of a call to its own error, or to an unanswering host. */
export const asked = <A, E extends { readonly _tag: string }>(
  effect: Effect.Effect<A, E>
): Effect.Effect<A, Extract<E, HostError> | RuntimeUnavailable> =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, Extract<E, HostError> | RuntimeUnavailable> => {
    const error = Option.getOrNull(Cause.findErrorOption(cause))
    if (isHostError(error)) return Effect.fail(held(error) as Extract<E, HostError>)
    // A stopping host interrupts its running calls.
    return Effect.fail(error !== null || Cause.hasInterrupts(cause) ? silence : breach)
  })
