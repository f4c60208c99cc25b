/** Finds the preview id in a Host header. */

/**
 * @returns Undefined for a host outside the preview domain (the API's own), null for one that names no preview.
 */
export const previewIdOf = (host: string | undefined, domain: string): string | null | undefined => {
  if (host === undefined) return undefined
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase()
  if (name === domain) return null
  if (!name.endsWith(`.${domain}`)) return undefined
  const id = name.slice(0, -domain.length - 1)
  return /^[0-9a-f]{32}$/.test(id) ? id : null
}
