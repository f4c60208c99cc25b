/**
 * Traces the calls of a driver and its guests as children of the caller's trace: of a request, or of a command that a request caused. Calls that the
 * service makes for itself have no span. Without tracing the driver is used directly.
 */
import { Effect, Layer, Stream } from "effect"
import { asPart, spanOf, tracing } from "../platform/trace/Tracing.ts"
import type { Guest } from "./Guest.ts"
import { Runtime } from "./Runtime.ts"

/** Span attributes are names and numbers only: neither paths nor command lines. */
const tracedGuest = ({ processes, files, dial }: Guest, sandboxId: string): Guest => {
  const part = (name: string) => asPart(`Guest.${name}`, { sandboxId })
  const streamPart =
    (name: string) =>
    <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
      Stream.unwrap(
        Effect.withFiber((fiber) =>
          Effect.succeed(
            spanOf(fiber) === null
              ? stream
              : (Stream.withSpan(stream, `Guest.${name}`, { attributes: { sandboxId } }) as Stream.Stream<A, E, R>)
          )
        )
      )
  return {
    processes: {
      ...processes,
      open: (...asked) => part("open")(processes.open(...asked)),
      start: (...asked) => part("start")(processes.start(...asked)),
      attach: (...asked) => streamPart("attach")(processes.attach(...asked)),
      execute: (...asked) => part("execute")(processes.execute(...asked)),
      run: (...asked) => streamPart("run")(processes.run(...asked)),
      kill: (...asked) => part("kill")(processes.kill(...asked)),
      every: part("every")(processes.every),
      endOne: (...asked) => part("endOne")(processes.endOne(...asked))
    },
    files: {
      stat: (...asked) => part("stat")(files.stat(...asked)),
      read: (...asked) => part("read")(files.read(...asked)),
      write: (...asked) => part("write")(files.write(...asked)),
      edit: (...asked) => part("edit")(files.edit(...asked)),
      list: (...asked) => part("list")(files.list(...asked)),
      createDirectory: (...asked) => part("createDirectory")(files.createDirectory(...asked)),
      rename: (...asked) => part("rename")(files.rename(...asked)),
      remove: (...asked) => part("remove")(files.remove(...asked)),
      unpack: (...asked) => part("unpack")(files.unpack(...asked)),
      pack: (...asked) => part("pack")(files.pack(...asked))
    },
    dial: (port) => part("dial")(dial(port))
  }
}

const tracedRuntime = (runtime: Runtime["Service"]): Runtime["Service"] => {
  const part = (name: string, sandboxId: string, generation?: number) =>
    asPart(`Runtime.${name}`, {
      sandboxId,
      driver: runtime.driver,
      ...(generation === undefined ? {} : { generation })
    })
  /** A driver returns the same guest object each time. */
  const guests = new WeakMap<Guest, Guest>()
  const guestOf = (guest: Guest, sandboxId: string): Guest => {
    const known = guests.get(guest)
    if (known !== undefined) return known
    const traced = tracedGuest(guest, sandboxId)
    guests.set(guest, traced)
    return traced
  }
  return {
    ...runtime,
    provision: (spec, turn) => part("provision", spec.sandboxId, spec.generation)(runtime.provision(spec, turn)),
    stop: (sandboxId, generation) => part("stop", sandboxId, generation)(runtime.stop(sandboxId, generation)),
    destroy: (sandboxId) => part("destroy", sandboxId)(runtime.destroy(sandboxId)),
    resize: (sandboxId, generation, sizes) =>
      part("resize", sandboxId, generation)(runtime.resize(sandboxId, generation, sizes)),
    suspend: (sandboxId, generation) => part("suspend", sandboxId, generation)(runtime.suspend(sandboxId, generation)),
    snapshots: {
      ...runtime.snapshots,
      capture: (snapshotId, sandboxId, memory) =>
        part("capture", sandboxId)(runtime.snapshots.capture(snapshotId, sandboxId, memory)),
      restore: (snapshotId, sandboxId, generation) =>
        part("restore", sandboxId, generation)(runtime.snapshots.restore(snapshotId, sandboxId, generation))
    },
    guest: (sandboxId, generation) =>
      Effect.map(runtime.guest(sandboxId, generation), (guest) => guestOf(guest, sandboxId))
  }
}

export const TracedRuntime = {
  /** Replaces the Runtime. */
  layer: Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const runtime = yield* Runtime
      return (yield* tracing) === null ? runtime : Runtime.of(tracedRuntime(runtime))
    })
  )
}
