/** Bounds of the file calls inside the agent. */

/** Contract "Limits": file content. */
export const contentMaxBytes = 8 * 1024 * 1024
/** Names of one directory, kept while it is listed page by page; beyond it a listing is refused with 413. */
export const listingMaxBytes = 32 * 1024 * 1024
export const listingMaxEntries = 1_000_000
/** Names of all directories being listed. */
export const listingsMaxBytes = 32 * 1024 * 1024
/** A listing that was not used for this long is forgotten; its cursor stays valid. */
export const listingIdleMs = 60_000

/** Entries of one archive that is unpacked. */
export const archiveEntriesMax = 1_000_000
/** Modes and times of an archive's directories, which are set last; beyond this they are set immediately. */
export const archiveDelayedMaxBytes = 8 * 1024 * 1024
/** Names of files with more than one, so that the second is packed as a link to the first; beyond this a file is packed twice. */
export const archiveLinksMaxBytes = 8 * 1024 * 1024
/** Names of the directories that are being packed, from the top down. */
export const archiveNamesMaxBytes = 32 * 1024 * 1024
/** Archives packed and unpacked concurrently; others wait. */
export const archivesAtATime = 4
