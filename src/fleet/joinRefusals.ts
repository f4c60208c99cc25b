/** Why a host may not join the fleet; null: it may, as far as the function knows. */
import type { HostDescription } from "../runtime/distant/HostDescription.ts"
import { JoinRefused } from "../runtime/distant/JoinRpcs.ts"
import { isRemovedHost } from "./hostStates.ts"
import type { KnownHost } from "./joinStatements.ts"

/** A host process silent for half of its lease counts as gone: a living one beats twice in that time. */
const silentAfter = 0.5

const refusal = (message: string, isFinal: boolean) => new JoinRefused({ message, isFinal })

/** The folder must be of this database, of a host that was not removed, and have its key. */
export const folderRefusal = (
  it: HostDescription,
  installation: string,
  known: KnownHost | null,
  digest: Buffer | null
): JoinRefused | null => {
  if (it.installation !== null && it.installation !== installation) {
    return refusal(
      `The data folder ${it.label} belongs to another database, whose Sandboxes would be destroyed here as unknown. Set ATOLL_FLEET_JOIN to services of that database, or ATOLL_DATA_DIR to another folder.`,
      true
    )
  }
  if (known !== null && isRemovedHost(known.state)) {
    return refusal(
      `This host was taken out of the fleet, and its Sandboxes with it. To let the machine join as a new host, set ATOLL_DATA_DIR to an empty folder.`,
      true
    )
  }
  if (known !== null && known.keyDigest !== null && digest?.equals(known.keyDigest) !== true) {
    return refusal(
      `The data folder ${it.label} has the id of a host of this fleet, and not its key (host.key). Put that file back; or to let the machine join as a new host, set ATOLL_DATA_DIR to an empty folder.`,
      true
    )
  }
  return null
}

/** @param namesake Another host with the name of this host's certificate. */
export const nameRefusal = (name: string, namesake: { readonly id: string; readonly label: string }): JoinRefused =>
  refusal(
    `The certificate of this host is for ${name}, which is the host ${namesake.id} (${namesake.label}). Give each host its own certificate; or if this host replaces that one, first run: atoll hosts remove ${namesake.id}`,
    false
  )

/** The driver must be the one that made the host's Sandboxes, and no other process of the folder may still beat. */
export const processRefusal = (it: HostDescription, known: KnownHost, leaseMs: number): JoinRefused | null => {
  if (known.sandboxes > 0 && known.driver !== it.driver) {
    return refusal(
      `The Sandboxes of the data folder ${it.label} were made with the driver ${known.driver}, and this process has ${it.driver}. Set ATOLL_RUNTIME=${known.driver}.`,
      true
    )
  }
  if (known.boot !== "" && known.boot !== it.boot && Math.abs(known.silentForMs) < silentAfter * leaseMs) {
    return refusal(
      `Another process of this host sent a beat ${Math.max(0, known.silentForMs)} ms ago. If two machines have copies of one data folder, stop one of them.`,
      false
    )
  }
  return null
}
