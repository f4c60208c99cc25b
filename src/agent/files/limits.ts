/** Bounds of the file calls inside the agent. */

/** Contract "Limits": file content. */
export const contentMaxBytes = 8 * 1024 * 1024
/** Names of one directory, kept while it is listed page by page; beyond it a listing is refused with 413. */
export const listingMaxBytes = 32 * 1024 * 1024
export const listingMaxEntries = 1_000_000
/** Names of all directories being listed. */
export const listingsMaxBytes = 32 * 1024 * 1024
/** A listing nobody asks for any more is forgotten; its cursor stays good. */
export const listingIdleMs = 60_000
