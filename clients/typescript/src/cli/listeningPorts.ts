/** The TCP ports on which programs in a Sandbox listen, as its kernel lists them: no program there notices. */
import type { Sandbox } from "../Sandbox.ts"

/** Of the column `st`. @source proc_net_tcp.txt of the kernel */
const listenState = "0A"

/** Null: they cannot be listed. */
export const listeningPorts = async (sandbox: Sandbox): Promise<ReadonlySet<number> | null> => {
  const tables = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || true"
  const { stdout } = await sandbox.run(["sh", "-c", tables], { timeoutSeconds: 10 }).catch(() => ({ stdout: "" }))
  const rows = stdout.split("\n").map((line) => line.trim().split(/\s+/))
  if (!rows.some(([first]) => first === "sl")) return null
  return new Set(
    rows
      .filter(([, , , state]) => state === listenState)
      .map(([, local]) => Number.parseInt(local!.split(":")[1] ?? "", 16))
  )
}
