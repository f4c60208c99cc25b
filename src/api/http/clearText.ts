/** Whether API keys cross a network unencrypted. */
import type { SettingsShape } from "../../Config.ts"

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host)

/** A sentence for the operator; null if they do not. */
export const clearTextWarning = ({ host, tlsCertFile }: Pick<SettingsShape, "host" | "tlsCertFile">): string | null =>
  tlsCertFile !== null || isLoopback(host)
    ? null
    : `API keys are not encrypted: Atoll serves plain HTTP on ${host} (ATOLL_HOST), and anyone who sees the traffic can read them. ` +
      "Set ATOLL_TLS_CERT_FILE and ATOLL_TLS_KEY_FILE, or let only a proxy that serves HTTPS reach this port."
