/** Joins a machine and the handlers of its commands, typed by the machine: each command has a handler, and each handler a command. */
import type { Schema } from "effect"
import type { AnyStateMachine } from "xstate"
import type { StoredSnapshot } from "../store/JournalRecord.ts"
import type { ActorDefinition, CommandHandler } from "./ActorDefinition.ts"
import type { CommandName, ContextOf, EventOf, ParamsOf } from "./machineTypes.ts"

export interface ActorParts<M extends AnyStateMachine> {
  /** The stored form of the machine's context. */
  readonly context: Schema.Schema<ContextOf<M>>
  /** Converts the context of an older version, which is named. Absent: older contexts load unchanged. */
  readonly migrate?: (value: string, context: ContextOf<M>, fromVersion: number) => ContextOf<M>
  /** The present name of a command that an earlier version stored and that is still pending. Absent: no command was renamed. */
  readonly presentCommand?: (value: string, command: string) => string
  readonly commands: {
    readonly [Name in CommandName<M>]: CommandHandler<ContextOf<M>, EventOf<M>, ParamsOf<M, Name>>
  }
}

/** The kind is the machine's id. */
export const defineActor = <M extends AnyStateMachine>(
  machine: M,
  { context, migrate, presentCommand, commands }: ActorParts<M>
): ActorDefinition<M> => ({
  kind: machine.id,
  version: Number(machine.version),
  machine,
  context: context as Schema.Schema<unknown>,
  migrate:
    migrate === undefined
      ? undefined
      : ({ value, context }: StoredSnapshot, fromVersion) => ({
          value,
          context: migrate(value, context as ContextOf<M>, fromVersion)
        }),
  presentCommand,
  // The host erases the types that were checked here: it knows a command by name only.
  commands: commands as unknown as ActorDefinition["commands"]
})
