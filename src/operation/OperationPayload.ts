/** What an operation needs to run, kept beside its snapshot; `env` and `stdin` are dropped at its end. */
export interface OperationPayload {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>> | null
  /** The version of the Sandbox's variables when it was accepted; null: it had none. Absent: an older version stored it. */
  readonly sandboxEnv?: string | null
  /** Base64. */
  readonly stdin: string | null
}
