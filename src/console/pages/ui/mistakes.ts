/** Which mistakes of a form its fields show. */
import { createContext } from "preact"
import { ApiFault } from "../api.ts"
import { FieldFaults, type Mistakes } from "./fieldFaults.ts"

/**
 * The mistakes that belong to a field of the form. The service names a field by its path in the request.
 *
 * @param has True: the form has a field of that name.
 */
export const mistakesOf = (fault: unknown, has: (name: string) => boolean): Mistakes => {
  if (fault instanceof FieldFaults) return fault.mistakes
  if (!(fault instanceof ApiFault)) return {}
  return Object.fromEntries(
    fault.issues.flatMap(({ path, message }) => {
      const name = path.findLast((part) => typeof part === "string" && has(part))
      return name === undefined ? [] : [[name, message]]
    })
  )
}

export const MistakesContext = createContext<Mistakes>({})

/** Fields show all of it, so nothing is left to say above the buttons. */
export const isToldByFields = (fault: unknown, mistakes: Mistakes): boolean =>
  fault instanceof FieldFaults || (fault instanceof ApiFault && fault.issues.length > 0)
    ? Object.keys(mistakes).length >= (fault instanceof ApiFault ? fault.issues.length : 1)
    : false
