/** The previews of a Sandbox. An address is in this page while it is shown; an open preview's can be shown again. */

import { useState } from "preact/hooks"
import type { ListedPreview, Preview } from "../../../../../schemas/Preview.ts"
import { ask } from "../../api.ts"
import { isDeleted, isOpenPreview, isUp } from "../../states.ts"
import { Form, useAction } from "../../ui/Action.tsx"
import { Copy } from "../../ui/Copy.tsx"
import { Fault } from "../../ui/Fault.tsx"
import { Field } from "../../ui/Field.tsx"
import { Instant } from "../../ui/Instant.tsx"
import { Live } from "../../ui/Live.tsx"
import { Pane } from "../../ui/Pane.tsx"
import { Table } from "../../ui/Table.tsx"
import { NotRunning } from "../NotRunning.tsx"
import type { TabProps } from "../TabProps.ts"
import { usePreviews } from "./usePreviews.ts"
import "./previews.css"

const isOpen = ({ status }: ListedPreview): boolean => isOpenPreview(status)

const isSame = (one: ListedPreview, other: Preview): boolean =>
  one.port === other.port && one.createdAt === other.createdAt

const portOf = (text: string): number => {
  const port = Number(text)
  if (!/^\d+$/.test(text.trim()) || port < 1 || port > 65_535) throw new Error("A port is a number from 1 to 65535.")
  return port
}

interface PreviewResponse {
  readonly preview: Preview
}

/** The open preview of that port, with its address. */
const lookedUp = async (sandboxId: string, port: number): Promise<Preview> =>
  (await ask<PreviewResponse>("POST", `/api/v2/sandboxes/${sandboxId}/previews/lookup`, { body: { port } })).preview

interface Opening {
  readonly sandboxId: string
  /** Another port has a preview, which stays open. */
  readonly alongside: boolean
  readonly opened: (preview: Preview) => void
}

const OpenPreview = ({ sandboxId, alongside, opened }: Opening) => (
  <Form
    label="Open a preview"
    busyLabel="Opening …"
    submit={async (data) => {
      const body = { port: portOf(String(data.get("port"))), alongside }
      opened((await ask<PreviewResponse>("POST", `/api/v2/sandboxes/${sandboxId}/previews`, { body })).preview)
    }}
  >
    <Field
      label="Port in the Sandbox"
      name="port"
      placeholder="3000"
      autocomplete="off"
      required
      hint="HTTP and WebSockets, for an hour. Nothing needs to listen there yet."
    />
  </Form>
)

const Opened = ({ preview: { port, url, expiresAt }, forget }: { preview: Preview; forget: () => void }) => (
  <section class="opened" aria-labelledby="opened">
    <h3 id="opened">Preview of port {port}</h3>
    <p class="notice" role="status">
      <strong>Keep this address like a password.</strong> Anyone who has it can use this port until{" "}
      <Instant at={expiresAt} />, without signing in.
    </p>
    <Copy text={url} label="Copy the address" />
    <div class="buttons">
      <a class="button primary" href={url} target="_blank" rel="noopener noreferrer">
        Open it in another tab
      </a>
      <button type="button" class="button" onClick={forget}>
        Hide the address
      </button>
    </div>
  </section>
)

interface Row {
  readonly sandboxId: string
  readonly preview: ListedPreview
  readonly show: (preview: Preview) => void
  readonly changed: () => void
}

const PreviewRow = ({ sandboxId, preview, show, changed }: Row) => {
  const { port, status, createdAt, expiresAt } = preview
  const showing = useAction(async () => show(await lookedUp(sandboxId, port)))
  const closing = useAction(async () => {
    const { id } = await lookedUp(sandboxId, port)
    await ask("DELETE", `/api/v2/sandboxes/${sandboxId}/previews/${id}`)
    changed()
  })
  return (
    <tr>
      <td>{port}</td>
      <td>
        <span class={`status ${status}`}>{status}</span>
      </td>
      <td>
        <Instant at={createdAt} />
      </td>
      <td>
        <Instant at={expiresAt} />
      </td>
      <td>
        {isOpen(preview) ? (
          <>
            <div class="buttons">
              <button
                type="button"
                class="button small"
                onClick={() => void showing.run()}
                aria-disabled={showing.isBusy}
                aria-label={`Show address of port ${port}`}
              >
                Show address
              </button>
              <button
                type="button"
                class="button small"
                onClick={() => void closing.run()}
                aria-disabled={closing.isBusy}
                aria-label={`Close the preview of port ${port}`}
              >
                {closing.isBusy ? "Closing …" : "Close"}
              </button>
            </div>
            <Fault fault={showing.fault ?? closing.fault} />
          </>
        ) : null}
      </td>
    </tr>
  )
}

const OfSandbox = ({ sandbox }: Pick<TabProps, "sandbox">) => {
  const { id, status, networkEnabled } = sandbox
  const { loaded, feed } = usePreviews(id)
  const [kept, keep] = useState<Preview | null>(null)
  const hasOpen = loaded.value?.previews.some(isOpen) ?? false
  // An ended preview has no valid address.
  const isKeptOver = kept !== null && loaded.value?.previews.some((one) => isSame(one, kept) && !isOpen(one)) === true
  const shown = isKeptOver ? null : kept
  return (
    <Pane title="Previews" loaded={loaded} age={<Live feed={feed} at={loaded.at} />}>
      {({ previews }) => (
        <>
          <NotRunning sandbox={sandbox} to="open a preview" />
          {shown === null ? null : <Opened preview={shown} forget={() => keep(null)} />}
          {!isUp(status) || shown !== null ? null : networkEnabled ? (
            <OpenPreview
              sandboxId={id}
              alongside={hasOpen}
              opened={(preview) => {
                keep(preview)
                loaded.reload()
              }}
            />
          ) : (
            <p class="notice">This Sandbox has no network, so its ports cannot be previewed.</p>
          )}
          {previews.length === 0 ? (
            <p class="empty">
              There are no previews. A preview gives anyone with its address access to a port of this Sandbox.
            </p>
          ) : (
            <Table label="Previews of this Sandbox" columns={["Port", "Status", "Opened", "Ends", "Actions"]}>
              {previews.map((one) => (
                <PreviewRow
                  key={`${one.createdAt} ${one.port}`}
                  sandboxId={id}
                  preview={one}
                  show={keep}
                  changed={loaded.reload}
                />
              ))}
            </Table>
          )}
        </>
      )}
    </Pane>
  )
}

export const Previews = ({ sandbox }: TabProps) =>
  isDeleted(sandbox.status) ? (
    <section class="pane" aria-labelledby="previews">
      <h2 id="previews">Previews</h2>
      <NotRunning sandbox={sandbox} to="open a preview" />
    </section>
  ) : (
    <OfSandbox sandbox={sandbox} />
  )
