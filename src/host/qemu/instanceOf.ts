import { createHash } from "node:crypto"

/** The name of this driver's cgroups, by its folder: it separates them from those of another service on this host. */
export const instanceOf = (root: string): string =>
  `atoll-vm-${createHash("sha256").update(root).digest("hex").slice(0, 12)}`
