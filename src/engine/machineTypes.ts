/**
 * The types of a machine's `setup`, as the host uses them.
 *
 * A machine's actions have one of three roles, by name: `note…` changes the context; `schedule` and `unschedule` keep deadlines; every other
 * action is a command. `test/unit/machines/` holds the machines to that.
 */
import type { AnyStateMachine, ContextFrom, EventFromLogic, InputFrom, StateMachine } from "xstate"

type ActionOf<M extends AnyStateMachine> =
  // biome-ignore lint/suspicious/noExplicitAny: XState's own bound of each parameter.
  M extends StateMachine<any, any, any, any, infer A, any, any, any, any, any, any, any, any, any, any> ? A : never

/** Without `at`: the host stamps each event with its instant. */
type Unstamped<E> = E extends { readonly at: number } ? Omit<E, "at"> : E

/** The events that are sent to actors of this machine. */
export type EventOf<M extends AnyStateMachine> = Unstamped<EventFromLogic<M>>

export type ContextOf<M extends AnyStateMachine> = ContextFrom<M>

/** The input of a new actor of this machine. */
export type InputOf<M extends AnyStateMachine> = InputFrom<M>

export type CommandName<M extends AnyStateMachine> = Exclude<
  ActionOf<M>["type"],
  `note${string}` | "schedule" | "unschedule"
>

/** The parameters of a command, as the machine's `setup` declares them. */
export type ParamsOf<M extends AnyStateMachine, Name extends CommandName<M>> = Extract<
  ActionOf<M>,
  { readonly type: Name }
>["params"]
