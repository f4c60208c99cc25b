/** The form to run a command. */
import { useRef, useState } from "preact/hooks"
import type { Operation, OperationResponse, StartOperationRequest } from "../../../../../schemas/Operation.ts"
import { ask, idempotencyKey } from "../../api.ts"
import { pairsOf } from "../../sandboxes/pairs.ts"
import { Form } from "../../ui/Action.tsx"
import { Area } from "../../ui/Area.tsx"
import { Field, Select } from "../../ui/Field.tsx"

const workspace = "/workspace"

type Manner = "shell" | "exact"

const linesOf = (text: string): ReadonlyArray<string> => text.replace(/\n$/, "").split("\n")

const argvOf = (manner: Manner, text: string): ReadonlyArray<string> =>
  manner === "shell" ? ["sh", "-c", text] : linesOf(text)

/** Seconds; null: no limit. */
const secondsOf = (text: string): number | null => {
  if (text === "") return null
  const seconds = Number(text)
  if (!Number.isFinite(seconds)) throw new Error(`Time limit: “${text}” is not a number of seconds.`)
  return seconds
}

const requestOf = (manner: Manner, data: FormData): StartOperationRequest => {
  // Forms may encode line breaks as CR LF.
  const text = (name: string) => String(data.get(name)).replaceAll("\r\n", "\n")
  return {
    argv: argvOf(manner, text("command")),
    cwd: text("cwd").trim() || workspace,
    env: Object.fromEntries(pairsOf("Environment", text("env"))),
    stdin: text("stdin") === "" ? null : text("stdin"),
    encoding: "utf8",
    timeoutSeconds: secondsOf(text("timeoutSeconds").trim())
  }
}

/** A retry after a failure is the same command; after a response, it is a new one. */
const useStart = (sandboxId: string) => {
  const unanswered = useRef<{ readonly body: string; readonly key: string } | null>(null)
  return async (request: StartOperationRequest): Promise<Operation> => {
    const body = JSON.stringify(request)
    if (unanswered.current?.body !== body) unanswered.current = { body, key: idempotencyKey() }
    const { operation } = await ask<OperationResponse>("POST", `/api/v2/sandboxes/${sandboxId}/operations`, {
      body: request,
      headers: { "idempotency-key": unanswered.current.key }
    })
    unanswered.current = null
    return operation
  }
}

const manners: ReadonlyArray<readonly [Manner, string]> = [
  ["shell", "Shell command (sh -c)"],
  ["exact", "Exact arguments, one per line"]
]

export const RunCommand = ({ sandboxId, started }: { sandboxId: string; started: (operation: Operation) => void }) => {
  const [manner, setManner] = useState<Manner>("shell")
  const start = useStart(sandboxId)
  return (
    <div class="run">
      <Form label="Run" busyLabel="Starting …" submit={async (data) => started(await start(requestOf(manner, data)))}>
        <Select
          label="Format"
          name="manner"
          value={manner}
          options={manners}
          onChoice={(value) => setManner(value as Manner)}
        />
        <Area
          label={manner === "shell" ? "Command" : "Program and arguments"}
          name="command"
          rows={3}
          required
          placeholder={manner === "shell" ? "make test 2>&1 | tail" : "make\ntest"}
          hint="Press Ctrl+Enter to run. The command continues when you close this page."
        />
        <details class="more">
          <summary>Folder, environment, input, time limit</summary>
          <div class="more-fields">
            <Field label="Folder" name="cwd" placeholder={workspace} autocomplete="off" spellcheck={false} />
            <Field
              label="Time limit"
              name="timeoutSeconds"
              autocomplete="off"
              hint="Seconds, up to a day; empty: no limit."
            />
            <Area
              label="Environment"
              name="env"
              rows={3}
              hint="NAME=value, one per line; added to the Sandbox's variables."
            />
            <Area label="Input" name="stdin" rows={3} hint="Text for stdin; empty: none." />
          </div>
        </details>
      </Form>
    </div>
  )
}
