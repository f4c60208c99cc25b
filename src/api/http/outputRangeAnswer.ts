/** A range of an operation's output as `OperationOutputChunk`. Its base64 is inserted as bytes; `JSON.stringify` would check every character and copy it twice. */
import { HttpServerResponse } from "effect/http"
import type { OperationOutputChunk } from "../../../schemas/Operation.ts"
import type { OutputRange } from "../../operation/operationOutput.ts"
import { aroundBase64 } from "./aroundBase64.ts"

export const outputRangeAnswer = ({ bytes, ...range }: OutputRange): HttpServerResponse.HttpServerResponse => {
  const rest: Omit<OperationOutputChunk, "data"> = { ...range, encoding: "base64" }
  const head = `${JSON.stringify(rest).slice(0, -1)},"data":"`
  return HttpServerResponse.uint8Array(aroundBase64(head, bytes, '"}\n'), { contentType: "application/json" })
}
