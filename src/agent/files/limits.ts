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

/** Entries of one archive that is unpacked. */
export const archiveEntriesMax = 1_000_000
/** Path of an entry, and what a link points to. */
export const archiveNameMaxBytes = 4095
/** One PAX header, or one long name of GNU's; and how many may stand before one entry. */
export const archivePaxMaxBytes = 1024 * 1024
export const archivePrefacesMax = 16
/** Modes and times that directories of an archive get when all else is done; what is more gets them at once. */
export const archiveDelayedMaxBytes = 8 * 1024 * 1024
/** Names of files with more than one, so that the second is a link to the first; beyond it a file stands in the archive twice. */
export const archiveLinksMaxBytes = 8 * 1024 * 1024
/** Names of the directories that are being packed, from the top down. */
export const archiveNamesMaxBytes = 32 * 1024 * 1024
/** Archives being packed and unpacked at a time; others wait for their turn. */
export const archivesAtATime = 4
