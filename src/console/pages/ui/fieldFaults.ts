/** Mistakes in a form, each at its field. */

/** By the name of the field. */
export type Mistakes = Readonly<Record<string, string>>

export class FieldFaults extends Error {
  readonly mistakes: Mistakes

  constructor(mistakes: Mistakes) {
    super(Object.values(mistakes).join(" "))
    this.mistakes = mistakes
  }
}

/** Runs every part, and throws the mistakes of all that failed together. Each part is named as its field. */
export const readAll = <A extends object>(parts: { readonly [Name in keyof A]: () => A[Name] }): A => {
  const mistakes: Record<string, string> = {}
  const read = Object.entries<() => unknown>(parts).flatMap(([name, part]) => {
    try {
      return [[name, part()]]
    } catch (fault) {
      if (fault instanceof FieldFaults) Object.assign(mistakes, fault.mistakes)
      else mistakes[name] = (fault as Error).message
      return []
    }
  })
  if (Object.keys(mistakes).length > 0) throw new FieldFaults(mistakes)
  return Object.fromEntries(read)
}
