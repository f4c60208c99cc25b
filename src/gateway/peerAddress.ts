/** Where a connection came from, as its socket knows it: an IPv4 address that came to an IPv6 socket is shown plain. */
export const plainAddress = (address: string | undefined): string => (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "")
