/** Services of another version, which a test starts beside this one: they have another description. */
const ports = new Set<string>()

export const isOtherVersion = (port: number): void => void ports.add(String(port))

/** @param host As in the request's header. */
export const isOfOtherVersion = (host: string): boolean => ports.has(host.slice(host.lastIndexOf(":") + 1))
