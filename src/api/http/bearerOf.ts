/** The secret of `Authorization: Bearer …`; null if there is none. */
import type { IncomingMessage } from "node:http"

/** @source RFC 9110 section 11.1: the scheme's name is case-insensitive */
const bearer = /^bearer +([\x21-\x7e]{1,512})$/i

export const bearerOf = ({ headers }: Pick<IncomingMessage, "headers">): string | null =>
  bearer.exec(headers.authorization ?? "")?.[1] ?? null
