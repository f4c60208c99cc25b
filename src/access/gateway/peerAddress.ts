/** The address of a connection's peer; an IPv4 address on an IPv6 socket is shown as IPv4. */
export const plainAddress = (address: string | undefined): string => (address ?? "").replace(/^::ffff:(?=\d+\.)/i, "")
