/** The inside of a simulated machine: processes follow `program`, there are no files unless it builds images, and the test listens on ports. */
import { duplexPair } from "node:stream"
import { Effect } from "effect"
import { type Guest, type GuestFiles, GuestUnavailable, PortClosed } from "../../runtime/Guest.ts"
import { Inside } from "./Inside.ts"
import type { SimulatedMachine, SimulatedWorld } from "./SimulatedWorld.ts"
import { builderFiles } from "./simulatedBuild.ts"
import { simulatedProcesses } from "./simulatedProcesses.ts"

const noFiles = Effect.fail(new GuestUnavailable({ message: "The simulated runtime has no files." }))
const files: GuestFiles = {
  stat: () => noFiles,
  read: () => noFiles,
  write: () => noFiles,
  edit: () => noFiles,
  list: () => noFiles,
  createDirectory: () => noFiles,
  rename: () => noFiles,
  remove: () => noFiles,
  unpack: () => noFiles,
  pack: () => noFiles
}

const dials = ({ machine, check }: Inside): Guest["dial"] =>
  Effect.fnUntraced(function* (port) {
    yield* check
    const listener = machine.listeners.get(port)
    if (listener === undefined) return yield* new PortClosed({ port })
    return yield* Effect.acquireRelease(
      Effect.sync(() => {
        const [near, far] = duplexPair()
        machine.tunnels.add(near)
        near.on("error", () => {})
        near.once("close", () => {
          machine.tunnels.delete(near)
          far.destroy()
        })
        far.on("error", () => {})
        far.once("close", () => near.destroy())
        listener(far)
        return near
      }),
      (near) => Effect.sync(() => void near.destroy())
    )
  })

export const simulatedGuest = (world: SimulatedWorld, machine: SimulatedMachine): Guest => {
  const inside = new Inside(world, machine)
  const own = machine.spec.builder === true ? { ...files, ...builderFiles(inside) } : files
  return { processes: simulatedProcesses(inside), files: own, dial: dials(inside) }
}
