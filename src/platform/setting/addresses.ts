/** Settings that are addresses: of the service itself, of its proxies and of its peers. */
import { isIP } from "node:net"
import { Config, Option, Schema } from "effect"
import type { Setting } from "./Setting.ts"

/** A scheme, a host and an optional port, without a path. */
export const origin = (env: string, description: string): Setting<string | null> => ({
  env,
  description,
  default: "",
  shape: "http:// or https://, a host and a port if need be, such as https://atoll.example.org",
  config: Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((text) => {
        const url = URL.parse(text)
        return (
          text === "" || (url !== null && ["http:", "https:"].includes(url.protocol) && url.href === `${url.origin}/`)
        )
      })
    ),
    env
  ).pipe(
    Config.option,
    Config.map((found) => {
      const text = Option.getOrElse(found, () => "")
      return text === "" ? null : new URL(text).origin
    })
  )
})

const listed = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")

/** An address, or a range in CIDR notation. A range of 0 bits would include everyone. */
const isAddressRange = (text: string): boolean => {
  const [address = "", bits, ...more] = text.split("/")
  const family = isIP(address)
  if (family === 0 || address.includes("%") || more.length > 0) return false
  return bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

export const addressRanges = (env: string, description: string): Setting<ReadonlyArray<string>> => ({
  env,
  description,
  default: "",
  shape: "IP addresses or CIDR ranges with commas between, such as 127.0.0.1,10.0.0.0/8,fd00::/8",
  config: Config.schema(
    Schema.String.check(Schema.makeFilter<string>((text) => listed(text).every(isAddressRange))),
    env
  ).pipe(
    Config.option,
    Config.map((found) => listed(Option.getOrElse(found, () => "")))
  )
})

/** `host` or `host:port`, in small letters. */
export const registries = (env: string, description: string): Setting<ReadonlyArray<string>> => ({
  env,
  description,
  default: "",
  shape: "host or host:port with commas between, such as registry.internal:5000",
  config: Config.schema(
    Schema.String.check(
      Schema.makeFilter<string>((text) => listed(text).every((it) => /^[A-Za-z0-9.-]+(:\d{1,5})?$/.test(it)))
    ),
    env
  ).pipe(
    Config.option,
    Config.map((found) => listed(Option.getOrElse(found, () => "").toLowerCase()))
  )
})

/** `name:port`, or `[address]:port`. */
const peerOf = (text: string): { readonly host: string; readonly port: number } | null => {
  const [, bracketed, plain, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\],]+)):(\d{1,5})$/.exec(text) ?? []
  const number = Number(digits)
  return digits === undefined || number > 65_535 ? null : { host: (bracketed ?? plain)!, port: number }
}

export const peers = (
  env: string,
  description: string
): Setting<ReadonlyArray<{ readonly host: string; readonly port: number }>> => ({
  env,
  description,
  default: "",
  shape: "name:port, with commas between",
  config: Config.schema(
    Schema.String.check(Schema.makeFilter<string>((text) => listed(text).every((it) => peerOf(it) !== null))),
    env
  ).pipe(
    Config.option,
    Config.map((found) => listed(Option.getOrElse(found, () => "")).flatMap((it) => peerOf(it) ?? []))
  )
})

/** Null: not set. */
export const peer = (
  env: string,
  description: string
): Setting<{ readonly host: string; readonly port: number } | null> => {
  const several = peers(env, description)
  return { ...several, shape: "name:port", config: Config.map(several.config, ([first]) => first ?? null) }
}
