/** Transitions of a Sandbox as entries of the contract's log. */

export interface Step {
  readonly revision: number
  readonly from: string | null
  readonly to: string
  readonly event: {
    readonly type: string
    readonly changes?: { readonly name?: string | null; readonly metadata?: { readonly label: string } }
  }
}

/** What the contract's log has of a transition; null: nothing. */
export const entryOf = ({ from, to, event: { type, changes } }: Step): string | null => {
  if (from !== to) return to
  if (type === "START" || type === "STOP") return type
  if (type !== "CHANGED") return null
  return [
    ...(changes?.name === undefined ? [] : [`name=${changes.name}`]),
    ...(changes?.metadata === undefined ? [] : [`label=${changes.metadata.label}`])
  ].join(" ")
}
