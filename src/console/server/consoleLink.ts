/**
 * Links into the console. The code is in the fragment, which a browser does not send to servers or proxies.
 */
import type { SettingsShape } from "../../Config.ts"

/** The host for a browser on the same machine. */
const reachable = (host: string): string => {
  if (host === "0.0.0.0") return "127.0.0.1"
  if (host === "::") return "[::1]"
  return host.includes(":") ? `[${host}]` : host
}

/** Null: the port is not known before the service has it. */
export const publicUrl = ({
  publicUrl,
  host,
  port,
  tlsCertFile
}: Pick<SettingsShape, "publicUrl" | "host" | "port" | "tlsCertFile">) => {
  if (publicUrl !== null || port === 0) return publicUrl
  return new URL(`${tlsCertFile === null ? "http" : "https"}://${reachable(host)}:${port}`).origin
}

/** @param kind `invitation`: the page registers; `link`: it signs in. */
export const consoleLink = (base: string, kind: "invitation" | "link", code: string): string =>
  `${base}/console/#${kind}=${code}`

/** To the operator's page, which needs no account. */
export const operatorLink = (base: string, code: string): string => `${base}/console/operator#link=${code}`
