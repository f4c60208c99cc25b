/** Reads one actor, typed by its machine. */
import { Effect } from "effect"
import type { AnyStateMachine } from "xstate"
import type { ActorRecord, Actors } from "../store/Actors.ts"
import type { ContextOf } from "./machineTypes.ts"

/** The committed actor. Null: no actor has this id, or it is of another kind. */
export const readActor = <M extends AnyStateMachine>(
  actors: Actors["Service"],
  machine: M,
  id: string
): Effect.Effect<ActorRecord<ContextOf<M>> | null> =>
  Effect.map(actors.read(id), (record) => (record?.kind === machine.id ? (record as ActorRecord<ContextOf<M>>) : null))
