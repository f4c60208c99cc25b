/** Finds the preview id in a Host header. */
import { BoundedMap } from "../../store/BoundedMap.ts"

/** Undefined for a host outside the preview domain (the API's own), null for one that names no preview. */
type PreviewId = string | null | undefined

const readId = (host: string, domain: string): PreviewId => {
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase()
  if (name === domain) return null
  if (!name.endsWith(`.${domain}`)) return undefined
  const id = name.slice(0, -domain.length - 1)
  return /^[0-9a-f]{32}$/.test(id) ? id : null
}

const keptMax = 1000
/** That of a name in the DNS, and a port. */
const keptMaxLength = 260

/** Of each host of that domain. Every request asks, mostly for a host of an earlier one, and some ask twice. */
export const previewIds = (domain: string): ((host: string | undefined) => PreviewId) => {
  const kept = new BoundedMap<string, { readonly id: PreviewId }>(keptMax)
  return (host) => {
    if (host === undefined) return undefined
    const known = kept.get(host)
    if (known !== undefined) return known.id
    const id = readId(host, domain)
    if (host.length <= keptMaxLength) kept.set(host, { id })
    return id
  }
}
