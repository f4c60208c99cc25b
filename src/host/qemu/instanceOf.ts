import { createHash } from "node:crypto"

/** Tells the cgroups of the driver whose folder that is from those of another service on this host. */
export const instanceOf = (root: string): string =>
  `atoll-vm-${createHash("sha256").update(root).digest("hex").slice(0, 12)}`
