/** `atoll/_async/api.py`: a method for each operation of the description. */
import type { Description, Field, Operation } from "../Description.ts"
import { inputsOf } from "./schemas.ts"
import type { Types } from "./types.ts"
import { docstring, head, imported, listed, namesIn, pascal, snake, text } from "./words.ts"

/** No request gets these answers: they are WebSockets. */
const notRequests = new Set(["openTerminal", "openTunnel"])

interface Parameter {
  readonly name: string
  /** In the method's signature. */
  readonly declared: string
  readonly type: string
  readonly description: string | null
}

const parameterOf = (types: Types, { name, shape, isRequired, description }: Field, isBody: boolean): Parameter => {
  const type = types.typeOf(shape, pascal(name))
  const python = snake(name)
  const optional = type.startsWith("Optional[") ? type : `Optional[${type}]`
  const declared = isRequired
    ? `${python}: ${type}`
    : isBody
      ? `${python}: Given[${type}] = UNSET`
      : `${python}: ${optional} = None`
  return { name: python, declared, type, description }
}

const bodyFieldsOf = (types: Types, { body }: Operation): ReadonlyArray<Field> => {
  if (body === null) return []
  const { shape } = types.resolved(body.shape, "")
  return shape.type === "object" ? shape.fields : []
}

const attemptSeconds = "attempt_seconds: Optional[float] = None"

const answers = { bytes: "Content", events: "httpx.Response", nothing: "None" }

const pairs = (fields: ReadonlyArray<Field>): ReadonlyArray<string> =>
  fields.map(({ name }) => `${text(name)}: ${snake(name)}`)

const methodOf = (
  types: Types,
  operation: Operation
): { readonly code: string; readonly uses: ReadonlyArray<string> } => {
  const { id, method, path, summary, scope, pathParameters, query, headers, body, answer } = operation
  const isBytes = body?.shape.type === "bytes"
  const bodyFields = bodyFieldsOf(types, operation)
  const places = pathParameters.map((field) => parameterOf(types, field, false))
  const named = [
    ...(isBytes ? [{ name: "content", declared: "content: AsyncBody", type: "", description: null }] : []),
    ...[...query, ...headers].map((field) => parameterOf(types, field, false)),
    ...bodyFields.map((field) => parameterOf(types, field, true))
  ]
  const all = [...places, ...named]
  if (new Set(all.map(({ name }) => name)).size < all.length) throw new Error(`Two parameters of ${id} have one name.`)
  const isOptional = ({ declared }: Parameter) => declared.includes(" = ")
  const isStream = answer.carries === "events"
  const keywords = [...named.filter((parameter) => !isOptional(parameter)), ...named.filter(isOptional)].map(
    ({ declared }) => declared
  )
  const type = answer.carries === "json" ? types.typeOf(answer.shape, "") : answers[answer.carries]
  const positional = ["self", ...places.map(({ declared }) => declared)]
  const said = all.filter(({ description }) => description !== null)
  const documentation = [
    `${summary}.${scope === null ? "" : ` Scope: ${scope}.`}`,
    ...(said.length === 0 ? [] : ["", ...said.map((parameter) => `${parameter.name}: ${parameter.description}`)])
  ].join("\n")
  const request = [
    text(id),
    text(method),
    text(path),
    ...(pathParameters.length === 0 ? [] : [`path={${pairs(pathParameters).join(", ")}}`]),
    ...(query.length === 0 ? [] : [`query={${pairs(query).join(", ")}}`]),
    ...(headers.length === 0 ? [] : [`headers={${pairs(headers).join(", ")}}`]),
    ...(isBytes
      ? ["content=content", `content_type=${JSON.stringify(body!.mediaType)}`]
      : body === null
        ? []
        : [`json={${pairs(bodyFields).join(", ")}}`])
  ]
  const decoder = answer.carries !== "json" ? null : types.decoded(answer.shape, "", "data")
  const asked = {
    json: decoder === "data" ? ["json", ", dict"] : ["json", `, ${type}.from_json`],
    bytes: ["content", ""],
    events: ["open", ""],
    nothing: ["nothing", ""]
  }[answer.carries]
  const define = (name: string, keywords: ReadonlyArray<string>, type: string, said: string, ending: string) =>
    listed(
      `async def ${name}(`,
      [...positional, ...(keywords.length === 0 ? [] : ["*", ...keywords])],
      `) -> ${type}:`,
      "    "
    ) +
    docstring(said, "        ") +
    listed("request = Request(", request, ")", "        ") +
    `        ${ending}\n`
  return {
    uses: [...all.map((parameter) => parameter.type), answer.carries === "json" ? type : ""],
    code: [
      define(
        snake(id),
        isStream ? keywords : [...keywords, attemptSeconds],
        type,
        documentation,
        `${answer.carries === "nothing" ? "" : "return "}await self.transport.${asked[0]}(request${asked[1]}${isStream ? "" : ", attempt_seconds"})`
      ),
      ...(answer.carries === "bytes"
        ? [
            define(
              `open_${snake(id)}`,
              keywords,
              "httpx.Response",
              `The same as ${snake(id)}, for who reads it piece by piece.`,
              "return await self.transport.open(request)"
            )
          ]
        : [])
    ].join("\n")
  }
}

export const apiModule = (description: Description, types: Types): string => {
  const methods = description.operations.filter(({ id }) => !notRequests.has(id)).map((one) => methodOf(types, one))
  const uses = namesIn([
    ...methods.flatMap((method) => method.uses),
    ...inputsOf(description, types).map(({ name }) => name)
  ])
  return (
    head(description.version) +
    '"""Every operation of the service\'s description, as it is."""\n\n' +
    "from __future__ import annotations\n\nfrom typing import Any, Dict, List, Literal, Optional\n\nimport httpx\n\n" +
    "from .._given import UNSET, Given\nfrom .._request import AsyncBody, Content, Request\n" +
    imported("..schemas", uses) +
    "from .transport import AsyncTransport\n\n\n" +
    "class AsyncApi:\n" +
    docstring(
      "Every operation of the service's description, with types and with the same care for lost connections.\n\n" +
        "A field of a request that is not given is omitted; None is sent as null. attempt_seconds: how long one attempt waits for the service; by default the client's own. A stream is returned unread: its reader closes it.",
      "    "
    ) +
    "\n    def __init__(self, transport: AsyncTransport) -> None:\n        self.transport = transport\n\n" +
    methods.map(({ code }) => code).join("\n")
  )
}
