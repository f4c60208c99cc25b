/** What clients ask for, in the order in which they ask, and what the world does meanwhile. */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { SimulatedWorld } from "../../../../../src/host/simulated/SimulatedWorld.ts"
import type { Answer } from "../ClientConnection.ts"
import type { HostProgram } from "../HostProgram.ts"

/** When a run begins. */
export const epochMs = 1_700_000_000_000

/** The ids in the answers so far, by the names of their requests, and what the commands of the operator printed. */
export type Ids = ReadonlyMap<string, string>

export interface AskStep {
  readonly type: "ask"
  /** Unique in its scenario. */
  readonly name: string
  readonly method: "POST" | "PATCH" | "DELETE" | "GET" | "PUT"
  /** Below `/api/v2`, or of the console. `{name}` stands for the id in the answer to that request. */
  readonly path: string
  readonly body?: unknown
  /** In place of a body of JSON. */
  readonly bytes?: Content
  /** Its Idempotency-Key; null: none. */
  readonly key: string | null
  /** A later repetition must give the same answer. */
  readonly isRepeated: boolean
  /** Who asks: with the key, or in the session, that the answer to that request gave. Null: a stranger. Absent: with the first key. */
  readonly as?: string | null
  /** The status that it must have; absent: any below 300. */
  readonly status?: number
  /** What must hold of its answer. */
  readonly holds?: (answer: Answer, answers: ReadonlyMap<string, Answer>) => boolean
  /** What a client without an answer asks when a repetition is refused, as what it wanted is there. */
  readonly otherwise?: AskStep
  /** What a client without an answer asks before it repeats: if it holds, what it wanted is there. */
  readonly first?: AskStep
  /** Its answer waits in real time, for a lease or for another thread: the clock stands still meanwhile. */
  readonly isSlow?: boolean
  /** Done twice it would do harm: a client without an answer waits until that request is over, before it looks or repeats. */
  readonly isOnce?: boolean
}

/** With a key, a late request gives the answer of its repetition. */
export const mayBeDoneLate = ({ method, path, key }: AskStep): boolean =>
  method !== "GET" && key === null && !/\/(wait|lookup)$/.test(path)

export interface Content {
  readonly type: string
  readonly bytes: Uint8Array
}

export type ScenarioStep =
  | AskStep
  | { readonly type: "pass"; readonly name: string; readonly ms: number }
  | { readonly type: "world"; readonly name: string; readonly happen: (at: WorldAt) => void }
  /** What the operator's command line does in a separate process. What it prints is among the ids, by these names. */
  | {
      readonly type: "command"
      readonly name: string
      readonly run: Effect.Effect<ReadonlyArray<readonly [name: string, printed: string]>, unknown, SqlClient.SqlClient>
    }

export interface WorldAt {
  readonly world: SimulatedWorld
  readonly ids: Ids
  readonly nowMs: number
  /** Of a fleet; none: the service carries its Sandboxes itself. */
  readonly hosts: ReadonlyArray<HostProgram>
}

export interface Scenario {
  readonly name: string
  /** Settings of its service, by environment variable. */
  readonly environment?: Readonly<Record<string, string>>
  /** Its Sandboxes live on so many hosts, which are not there before they start. Absent: the service carries them itself. */
  readonly hosts?: number
  readonly steps: ReadonlyArray<ScenarioStep>
  /** Paths of what is there in the end, besides the Sandboxes that its steps created: it is deleted before the last checks. */
  readonly leaves?: ReadonlyArray<string>
  /** After the time after the last step, when a service that was frozen is awake: no strike happens in them. */
  readonly afterwards?: ReadonlyArray<ScenarioStep>
}
