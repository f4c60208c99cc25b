/** `atoll/service_errors.py`: an exception for each code of the service. */
import type { Description } from "../Description.ts"
import { detailsName, detailsOf } from "./schemas.ts"
import type { Types } from "./types.ts"
import { head, imported, namesIn, text } from "./words.ts"

export const errorsModule = (description: Description, types: Types): string => {
  const details = detailsOf(description, types)
  const errors = description.errors.map(({ code, schema }) => {
    const shape = details.get(schema)?.shape ?? { type: "null" as const }
    return {
      code,
      name: schema,
      type: types.typeOf(shape, detailsName(schema)),
      decoded: shape.type === "null" ? "None" : types.decoded(shape, detailsName(schema), "details")
    }
  })
  return (
    head(description.version) +
    '"""An exception for each code of the service. Later versions may have more: those are an AtollError with that code."""\n\n' +
    "from __future__ import annotations\n\nfrom typing import Any, Callable, Dict, Literal, Optional, Tuple, Type\n\n" +
    "from .errors import AtollError\n" +
    imported(".schemas", namesIn(errors.map(({ type }) => type))) +
    "\n" +
    errors
      .map(
        ({ code, name, type }) =>
          `\nclass ${name}(AtollError):\n    """\`${code}\`"""\n\n    code: Literal[${text(code)}]\n    details: ${type}\n`
      )
      .join("\n") +
    "\n\nBY_CODE: Dict[str, Tuple[Type[AtollError], Callable[[Any], Any]]] = {\n" +
    errors.map(({ code, name, decoded }) => `    ${text(code)}: (${name}, lambda details: ${decoded}),\n`).join("") +
    '}\n"""The class of each code, and what reads its details."""\n\n' +
    `__all__ = [\n${errors
      .map(({ name }) => name)
      .sort()
      .map((name) => `    ${text(name)},\n`)
      .join("")}]\n`
  )
}
