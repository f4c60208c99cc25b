/** The address of a preview as its visitors use it. */
import type { SettingsShape } from "../Config.ts"

type Serving = Pick<SettingsShape, "previewScheme" | "tlsCertFile">

/** As a visitor uses it, if no trusted proxy says better. */
export const previewSchemeOf = ({ previewScheme, tlsCertFile }: Serving): "http" | "https" => {
  if (previewScheme !== "auto") return previewScheme
  return tlsCertFile === null ? "http" : "https"
}

/** @param port That Atoll listens on. */
export const previewUrl = (settings: Serving, hostname: string, port: number): string => {
  const scheme = previewSchemeOf(settings)
  // With https by the setting it is a proxy's, on its port.
  const isProxys = settings.previewScheme === "https"
  const isDefault = port === (scheme === "https" ? 443 : 80)
  return `${scheme}://${isProxys || isDefault ? hostname : `${hostname}:${port}`}/`
}
