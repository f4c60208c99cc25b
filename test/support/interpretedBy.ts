/** A definition whose commands are all run by one function: for tests of the host. */
import type { Effect } from "effect"
import type { AnyStateMachine } from "xstate"
import type { ActorDefinition, AnyEvent, CommandScope } from "../../src/engine/ActorDefinition.ts"
import type { PendingCommand } from "../../src/store/JournalRecord.ts"

type Interpret = (command: PendingCommand, scope: CommandScope) => Effect.Effect<AnyEvent | null>

const isCommand = (action: string): boolean => !/^(?:note|schedule$|unschedule$)/.test(action)

/** @param lane Of a command, by its name. */
export const interpretedBy = (
  machine: AnyStateMachine,
  lane: (type: string) => string | null,
  interpret: Interpret
): ActorDefinition => ({
  kind: machine.id,
  version: 1,
  machine,
  commands: Object.fromEntries(
    Object.keys(machine.implementations.actions)
      .filter(isCommand)
      .map((type) => [
        type,
        {
          lane: lane(type),
          run: (scope: CommandScope, params: unknown) => interpret({ key: scope.key, type, params }, scope)
        }
      ])
  )
})
