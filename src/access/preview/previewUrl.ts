/** The public address of a preview. */
import type { SettingsShape } from "../../Config.ts"

type Serving = Pick<SettingsShape, "previewScheme" | "tlsCertFile">

/** The visitor's scheme, unless a trusted proxy names another. */
export const previewSchemeOf = ({ previewScheme, tlsCertFile }: Serving): "http" | "https" => {
  if (previewScheme !== "auto") return previewScheme
  return tlsCertFile === null ? "http" : "https"
}

/** @param port The port on which Atoll listens. */
export const previewUrl = (settings: Serving, hostname: string, port: number): string => {
  const scheme = previewSchemeOf(settings)
  // Https by the setting comes from a proxy, on its own port.
  const isProxys = settings.previewScheme === "https"
  const isDefault = port === (scheme === "https" ? 443 : 80)
  return `${scheme}://${isProxys || isDefault ? hostname : `${hostname}:${port}`}/`
}
