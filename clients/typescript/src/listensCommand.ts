/** The kernel writes an address as words in the order of the machine: any address, or loopback, of both families. */
const addresses = [
  "00000000",
  "0100007F",
  "00000000000000000000000000000000",
  "00000000000000000000000001000000",
  "0000000000000000FFFF00000100007F"
]

/**
 * Ends with 0 if a program in the Sandbox takes connections on the port. It reads the kernel's table, so that it needs any shell alone, and connects to
 * nothing.
 */
export const listensCommand = (port: number): ReadonlyArray<string> => {
  const hex = port.toString(16).toUpperCase().padStart(4, "0")
  const sockets = addresses.map((address) => `${address}:${hex}\\ 0A`).join("|")
  const probe = `while read -r _ local _ state _; do case "$local $state" in ${sockets}) exit 0;; esac; done`
  return ["sh", "-c", `for table in tcp tcp6; do ${probe} </proc/net/$table; done 2>/dev/null; exit 1`]
}
