/** One rule of the API: the code that decides it and the test that fails without it. */
export interface Rule {
  /** For readers of docs/rules.md, in one or two sentences. */
  readonly rule: string
  /** A file from the root, and what it declares: `src/operation/Operations.ts#start`; `a.b` is declared within `a`. */
  readonly decidedBy: `${string}.ts#${string}`
  /** The end of a test file's path, and the title of a test or suite in it. Null: no test; the page lists the rule as such. */
  readonly heldBy: `${string}.ts#${string}` | null
  /** A newcomer's question that this rule answers. The page begins with these. */
  readonly question?: string
}

export interface Section {
  readonly title: string
  readonly rules: ReadonlyArray<Rule>
}
