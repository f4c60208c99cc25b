/** Messages of JSON-RPC 2.0, as far as a bridge has to know them. */
import { isRecord } from "../../errors.ts"

export type Message = Readonly<Record<string, unknown>>
export type Id = string | number

export const idOf = ({ id }: Message): Id | null => (typeof id === "string" || typeof id === "number" ? id : null)

/** It needs an answer. */
export const isRequest = (message: Message): message is Message & { readonly method: string; readonly id: Id } =>
  typeof message["method"] === "string" && idOf(message) !== null

export const paramsOf = ({ params }: Message): Message => (isRecord(params) ? params : {})

export const errorCodes = { parse: -32_700, invalidRequest: -32_600, server: -32_000 } as const

/** @param data For programs. */
export const errorMessage = (
  id: Id | null,
  code: (typeof errorCodes)[keyof typeof errorCodes],
  message: string,
  data?: unknown
): Message => ({ jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } })
