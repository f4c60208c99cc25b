/** Root's capabilities: all of them on a host, few in a container. */
import { readFileSync } from "node:fs"

/** Numbers from linux/capability.h. */
const NUMBERS = { NET_ADMIN: 12, SYS_PTRACE: 19, SYS_ADMIN: 21 } as const

export type Capability = keyof typeof NUMBERS

/**
 * Those of `wanted` that this process lacks.
 *
 * @param status `/proc/PID/status`
 * @source capabilities(7)
 */
export const missingCapabilities = (
  wanted: ReadonlyArray<Capability>,
  status = readFileSync("/proc/self/status", "latin1")
): ReadonlyArray<Capability> => {
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`)
  return wanted.filter((it) => ((effective >> BigInt(NUMBERS[it])) & 1n) === 0n)
}
