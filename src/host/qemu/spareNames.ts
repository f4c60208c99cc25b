/** The names of spare machines: they stand in the place of a Sandbox's id, for folder and record. */
import { identify, type ProcessIdentity } from "../linux/ProcessIdentity.ts"

const PREFIX = "spare-"
/** Of a boot's id: as many as are needed to tell two boots of a host apart. */
const BOOT_CHARACTERS = 8

/**
 * Names the process that made the spare, so that another process of the same data folder knows at any moment, also before there is a record, whether
 * the spare is in use.
 */
export const spareName = ({ pid, startTime, bootId }: ProcessIdentity, unique: string): string =>
  `${PREFIX}${pid}-${startTime}-${bootId.slice(0, BOOT_CHARACTERS)}-${unique}`

export const isSpare = (sandboxId: string): boolean => sandboxId.startsWith(PREFIX)

/** The process that made it does not live; nor does that of a name which an earlier version gave. */
export const isOrphan = (sandboxId: string): boolean => {
  const [pid, startTime, boot] = sandboxId.slice(PREFIX.length).split("-")
  const maker = identify(Number(pid))
  return maker === null || maker.startTime !== Number(startTime) || maker.bootId.slice(0, BOOT_CHARACTERS) !== boot
}
