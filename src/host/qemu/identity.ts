/** The properties that no two clones of a template may share: clock, names, entropy, network, volume, generation. */
import { Effect, Schedule } from "effect"
import type { RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { attempt, unavailable } from "../linux/attempt.ts"
import { NAMESERVER } from "../linux/networkNamespace.ts"
import { isAlive } from "../linux/ProcessIdentity.ts"
import { patienceEnds } from "../linux/starvation.ts"
import { hostnameOf } from "./BootPort.ts"
import type { Machine } from "./Machine.ts"
import type { MachineShape } from "./machineArguments.ts"
import type { MachineRecord } from "./SandboxFolder.ts"

export const IDENTITY_TIMEOUT_MS = 20_000

const go = (machine: Machine) => attempt("starting a machine's processors", () => machine.qmp.execute("cont"))

/**
 * Resumes a paused machine and gives it this record's identity. Its generation comes last: with that the agent takes an id from the kernel's random numbers,
 * which are a copy's own only then.
 */
export const giveIdentity = (
  machine: Machine,
  record: MachineRecord,
  shape: MachineShape
): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.gen(function* () {
    yield* go(machine)
    // The agent takes the connection meanwhile. Where it does not, the generation tries again.
    machine.session.ready().catch(() => {})
    yield* givePlace(machine, hostnameOf(record.sandboxId), shape)
    yield* giveGeneration(machine, record.generation)
  })

/** Resumes a paused machine and gives it an identity without an owner's name. */
export const giveNobodysIdentity = (
  machine: Machine,
  hostname: string,
  shape: MachineShape
): Effect.Effect<void, RuntimeUnavailable> => Effect.andThen(go(machine), givePlace(machine, hostname, shape))

/** Resumes such a machine and gives it its owner's name and generation. */
export const giveName = (machine: Machine, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> =>
  Effect.andThen(
    go(machine),
    Effect.all(
      [
        attempt("naming a machine", () => machine.boot.name(hostnameOf(record.sandboxId), IDENTITY_TIMEOUT_MS)),
        giveGeneration(machine, record.generation)
      ],
      { concurrency: 2, discard: true }
    )
  )

/**
 * Gives a machine that goes on with another one's memory its own names, entropy and clock. Its agent keeps the generation that it has.
 */
export const giveOwnIdentity = (machine: Machine, record: MachineRecord): Effect.Effect<void, RuntimeUnavailable> =>
  attempt("giving a machine its own identity", () =>
    machine.boot.ownIdentity(hostnameOf(record.sandboxId), IDENTITY_TIMEOUT_MS)
  )

/** Has the agent's code for a generation translated, without giving one: the agent refuses 0. */
export const warmGeneration = (machine: Machine): Effect.Effect<void, RuntimeUnavailable> =>
  machine.session.call("POST", "/v1/identity", { generation: 0 }).pipe(
    Effect.asVoid,
    Effect.mapError(({ message }) => unavailable(message))
  )

const givePlace = (machine: Machine, hostname: string, shape: MachineShape) =>
  attempt("giving a machine its identity", () =>
    machine.boot.identity({ hostname, nameserver: shape.network ? NAMESERVER : null }, IDENTITY_TIMEOUT_MS)
  )

const giveGeneration = (machine: Machine, generation: number): Effect.Effect<void, RuntimeUnavailable> =>
  machine.session.call("POST", "/v1/identity", { generation }).pipe(
    // The request may be repeated. A retry covers a machine that waits for a processor longer than one attempt to connect may take.
    Effect.retry({
      schedule: Schedule.spaced(20),
      while: ({ fault }) => fault !== "protocol" && isAlive(machine.process)
    }),
    Effect.mapError(({ message }) => unavailable(message)),
    Effect.raceFirst(
      Effect.andThen(
        patienceEnds(machine.process, IDENTITY_TIMEOUT_MS),
        Effect.fail(
          unavailable(
            `The guest's agent did not take its generation within ${IDENTITY_TIMEOUT_MS} ms of processor time.`
          )
        )
      )
    ),
    Effect.filterOrFail(
      ({ status }) => status === 200,
      ({ status }) => unavailable(`The guest's agent refused its generation with status ${status}.`)
    ),
    Effect.asVoid
  )
