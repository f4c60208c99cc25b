/** The previews of a Sandbox. The address of one is in this page until it is put away, and nowhere else. */

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

interface Opening {
  readonly sandboxId: string
  readonly opened: (preview: Preview) => void
}

const OpenPreview = ({ sandboxId, opened }: Opening) => (
  <Form
    label="Open a preview"
    busyLabel="Opening …"
    submit={async (data) => {
      const body = { port: portOf(String(data.get("port"))) }
      opened(
        (await ask<{ readonly preview: Preview }>("POST", `/api/v2/sandboxes/${sandboxId}/previews`, { body })).preview
      )
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
      <strong>Its address is shown now and never again.</strong> Keep it like a password: anyone who has it can use this
      port until <Instant at={expiresAt} />, without signing in.
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

const OfSandbox = ({ sandbox }: Pick<TabProps, "sandbox">) => {
  const { id, status, networkEnabled } = sandbox
  const { loaded, feed } = usePreviews(id)
  const [kept, keep] = useState<Preview | null>(null)
  const closing = useAction(async () => {
    await ask("DELETE", `/api/v2/sandboxes/${id}/previews`)
    loaded.reload()
  })
  const open = loaded.value?.previews.find(isOpen) ?? null
  // An ended preview has no valid address.
  const isKeptOver = kept !== null && loaded.value?.previews.some((one) => isSame(one, kept) && !isOpen(one)) === true
  const shown = isKeptOver ? null : kept
  return (
    <Pane title="Previews" loaded={loaded} age={<Live feed={feed} at={loaded.at} />}>
      {({ previews }) => (
        <>
          <NotRunning sandbox={sandbox} to="open a preview" />
          {shown === null ? null : <Opened preview={shown} forget={() => keep(null)} />}
          {!isUp(status) || open !== null || shown !== null ? null : networkEnabled ? (
            <OpenPreview
              sandboxId={id}
              opened={(preview) => {
                keep(preview)
                loaded.reload()
              }}
            />
          ) : (
            <p class="notice">This Sandbox has no network, so its ports cannot be previewed.</p>
          )}
          {open !== null && shown === null ? (
            <p class="hint">
              One preview at a time. The address of this one was shown when it was opened: close it, and open another,
              to have one again.
            </p>
          ) : null}
          <Fault fault={closing.fault} />
          {previews.length === 0 ? (
            <p class="empty">
              There are no previews. A preview gives anyone with its address access to a port of this Sandbox.
            </p>
          ) : (
            <Table label="Previews of this Sandbox" columns={["Port", "Status", "Opened", "Ends", "Actions"]}>
              {previews.map((one) => (
                <tr key={`${one.createdAt} ${one.port}`}>
                  <td>{one.port}</td>
                  <td>
                    <span class={`status ${one.status}`}>{one.status}</span>
                  </td>
                  <td>
                    <Instant at={one.createdAt} />
                  </td>
                  <td>
                    <Instant at={one.expiresAt} />
                  </td>
                  <td>
                    {isOpen(one) ? (
                      <button
                        type="button"
                        class="button small"
                        onClick={() => void closing.run()}
                        aria-disabled={closing.isBusy}
                        aria-label={`Close the preview of port ${one.port}`}
                      >
                        {closing.isBusy ? "Closing …" : "Close"}
                      </button>
                    ) : null}
                  </td>
                </tr>
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
