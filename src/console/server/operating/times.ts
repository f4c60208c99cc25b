/** Instants for people and for JSON documents. */

/** With a resolution of one second. */
export const shownTime = (ms: number | null): string =>
  ms === null ? "-" : new Date(ms).toISOString().replace(/\.\d+Z$/, "Z")

/** In the form of JSON documents. */
export const timestamp = (ms: number): string => new Date(ms).toISOString()
export const time = (ms: number | null): string | null => (ms === null ? null : timestamp(ms))
