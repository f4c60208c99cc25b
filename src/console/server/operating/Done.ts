/** What an act of the operator did. */
export interface Done {
  /** For people: sentences, or a value that is used elsewhere, such as an id. */
  readonly said: string
  /** A link that is shown once; null: there is none. */
  readonly link: string | null
  /** Of a new API key, shown once; null: there is none. */
  readonly secret: string | null
  /** As JSON. */
  readonly document: object
}
