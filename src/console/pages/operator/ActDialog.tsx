/** An act of the operator: a question that says what comes of it, and then what was done, in the words of the command line. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { Acted } from "../../../../schemas/console/Acted.ts"
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Copy } from "../ui/Copy.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { base } from "./operatorSession.ts"

export interface Act {
  readonly title: string
  /** Of the button. */
  readonly label: string
  readonly isDangerous?: boolean
  /** Below the operator's API. */
  readonly path: string
  /** What comes of it. */
  readonly means: string
  readonly fields?: ComponentChildren
  /** Absent: the call has no body. */
  readonly body?: (data: FormData) => object
}

const Result = ({ acted, close }: { acted: Acted; close: () => void }) => (
  <>
    {acted.said.split("\n").map((sentence) => (
      <p key={sentence} class="said break" role="status">
        {sentence}
      </p>
    ))}
    {acted.link === null ? null : <Copy text={acted.link} label="Copy the link" />}
    {acted.secret === null ? null : <Copy text={acted.secret} label="Copy the secret" />}
    <div class="buttons">
      <button type="button" class="button primary" onClick={close}>
        {acted.link === null && acted.secret === null ? "Close" : "I have saved it"}
      </button>
    </div>
  </>
)

interface Asked {
  readonly act: Act
  readonly close: () => void
  /** It was done. */
  readonly done: () => void
}

export const ActDialog = ({ act, close, done }: Asked) => {
  const [acted, setActed] = useState<Acted | null>(null)
  const { title, label, isDangerous = false, path, means, fields, body } = act
  const submit = async (data: FormData) => {
    setActed(await ask<Acted>("POST", `${base}${path}`, body === undefined ? {} : { body: body(data) }))
    done()
  }
  return (
    <Dialog title={title} close={close}>
      {acted !== null ? (
        <Result acted={acted} close={close} />
      ) : (
        <>
          <p>{means}</p>
          <Form
            label={label}
            busyLabel="Asking …"
            kind={isDangerous ? "danger" : "primary"}
            cancel={close}
            submit={submit}
          >
            {fields}
          </Form>
        </>
      )}
    </Dialog>
  )
}

/** The text of a field; null: empty. */
export const textIn = (data: FormData, name: string): string | null => String(data.get(name) ?? "").trim() || null
