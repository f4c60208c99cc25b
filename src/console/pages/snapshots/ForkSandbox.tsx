/** Makes copies of a Sandbox, and names those that were refused. */
import { useState } from "preact/hooks"
import type { ForkResponse } from "../../../../schemas/Fork.ts"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { FieldFaults } from "../ui/fieldFaults.ts"
import { Link } from "../ui/Link.tsx"
import { useKeys } from "../useKeys.ts"
import { MemoryChoice, withMemory } from "./MemoryChoice.tsx"

const countMax = 100

const countIn = (data: FormData): number => {
  const text = String(data.get("count")).trim()
  const count = Number(text)
  if (!/^\d+$/.test(text) || count < 1 || count > countMax)
    throw new FieldFaults({ count: `A number from 1 to ${countMax}.` })
  return count
}

const Made = ({
  fork: { snapshot, sandboxes, refused, missing },
  close
}: {
  fork: ForkResponse
  close: () => void
}) => (
  <>
    <p role="status">
      {sandboxes.length === 0 ? "No copy was made." : "These copies begin with the files as they were:"}
    </p>
    <ul>
      {sandboxes.map(({ id, name }) => (
        <li key={id}>
          <Link to={`/sandboxes/${id}`}>{name ?? id}</Link> <code class="soft">{id}</code>
        </li>
      ))}
      {refused.map(({ index, message }) => (
        <li key={index}>
          Copy {index + 1} was refused: {message}
        </li>
      ))}
    </ul>
    {missing === null ? null : (
      <p>
        They begin from revision {snapshot.sandboxRevision}. Not in them: {missing.transitions} transitions and{" "}
        {missing.operationCount} operations since.
      </p>
    )}
    <div class="buttons">
      <button type="button" class="button" onClick={close}>
        Close
      </button>
    </div>
  </>
)

interface Asked {
  readonly sandbox: Sandbox
  /** Absent: by a new snapshot of now. */
  readonly atRevision?: number
  readonly close: () => void
  readonly done: () => void
}

export const ForkSandbox = ({ sandbox, atRevision, close, done }: Asked) => {
  const keyOf = useKeys()
  const [fork, setFork] = useState<ForkResponse | null>(null)
  const path = `/api/v2/sandboxes/${sandbox.id}/fork`
  return (
    <Dialog title={atRevision === undefined ? "Fork this Sandbox" : `Fork revision ${atRevision}`} close={close}>
      {fork !== null ? (
        <Made fork={fork} close={close} />
      ) : (
        <Form
          label="Fork"
          busyLabel="Forking …"
          cancel={close}
          submit={async (data) => {
            const of = atRevision === undefined ? { memory: withMemory(data) } : { atRevision }
            const body = { count: countIn(data), ...of }
            const headers = { "idempotency-key": keyOf(path, body) }
            setFork(await ask<ForkResponse>("POST", path, { body, headers }))
            done()
          }}
        >
          <Field
            label="Copies"
            name="count"
            defaultValue="1"
            required
            autocomplete="off"
            hint={`At most ${countMax}. Each is a Sandbox that begins with the same files, variables and lifetime.`}
          />
          {atRevision === undefined ? (
            <MemoryChoice sandbox={sandbox} hint="Each goes on with the running processes." />
          ) : null}
        </Form>
      )}
    </Dialog>
  )
}
