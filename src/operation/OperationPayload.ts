/** Input of an operation's command, stored beside its snapshot; `env` and `stdin` are deleted at its end. */
export interface OperationPayload {
  readonly argv: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>> | null
  /** Version of the Sandbox's variables when the operation was accepted; null: none. Absent: stored by an older version. */
  readonly sandboxEnv?: string | null
  /** Base64. */
  readonly stdin: string | null
}
