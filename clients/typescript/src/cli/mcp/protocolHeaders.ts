/**
 * The headers that repeat parts of a message where it goes over HTTP.
 * @source https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
import { isRecord } from "../../errors.ts"
import { type Message, paramsOf } from "./message.ts"

const versionKey = "io.modelcontextprotocol/protocolVersion"

/** The subject of a request, by its method. */
const nameKeys: Readonly<Record<string, string>> = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri"
}

const plain = /^(?!=\?base64\?)[\x21-\x7e]+$/

const asHeader = (text: string): string =>
  plain.test(text) ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`

/** @param agreed The version that `initialize` has agreed on, which clients of the year before begin with. */
export const protocolHeaders = (message: Message, agreed: string | null): Readonly<Record<string, string>> => {
  const method = String(message["method"])
  const params = paramsOf(message)
  const meta = params["_meta"]
  const own = isRecord(meta) ? meta[versionKey] : undefined
  if (typeof own !== "string") return agreed === null ? {} : { "mcp-protocol-version": agreed }
  const name = params[nameKeys[method] ?? ""]
  return {
    "mcp-protocol-version": asHeader(own),
    "mcp-method": asHeader(method),
    ...(typeof name === "string" ? { "mcp-name": asHeader(name) } : {})
  }
}
