/** What is asked of a host, each after a question that names it and says what comes of it. */

import type { ComponentChildren } from "preact"
import { removalObstacle } from "../../../../machines/hostRemoval.ts"
import type { Host } from "../../../../schemas/console/Hosts.ts"
import { ask } from "../api.ts"
import { count } from "../format.ts"
import { isRemovedHost } from "../states.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Check } from "../ui/Field.tsx"
import { labelOf } from "./hostTexts.ts"
import { base } from "./operatorSession.ts"

export type Wish = "cordon" | "drain" | "uncordon" | "remove"

export const wishNames: Readonly<Record<Wish, string>> = {
  cordon: "Cordon",
  drain: "Drain",
  uncordon: "Uncordon",
  remove: "Remove"
}

/** The requests that would change something. */
export const wishesFor = ({ state, wish }: Host): ReadonlyArray<Wish> => {
  if (isRemovedHost(state)) return []
  const wishes: ReadonlyArray<readonly [Wish, boolean]> = [
    ["cordon", wish !== "cordoned"],
    ["drain", wish !== "draining"],
    ["uncordon", wish !== "open"],
    ["remove", true]
  ]
  return wishes.flatMap(([name, is]) => (is ? [name] : []))
}

const sandboxes = (number: number): string => (number === 1 ? "1 Sandbox" : `${count(number)} Sandboxes`)

/** Something of it is on no other host. */
const isOnlyThere = ({ snapshots, images }: Host): boolean => (snapshots?.onlyHere ?? 0) + (images?.onlyHere ?? 0) > 0

/** As the service sees it, which refuses what is used. */
const isUsed = (host: Host): boolean => removalObstacle(host.state, host.sandboxes) !== null || isOnlyThere(host)

const Means = ({ wish, host }: { wish: Wish; host: Host }): ComponentChildren => {
  const { all, up } = host.sandboxes
  switch (wish) {
    case "cordon":
      return <p>It gets no new Sandboxes. Its present ones continue, and can be started.</p>
    case "drain":
      return (
        <p>
          It gets no new Sandboxes, and those that run there ({sandboxes(up)}) are stopped. Volumes are kept; none can
          be started before the host is used again. Its snapshots and uploaded images are copied to other hosts.
        </p>
      )
    case "uncordon":
      return <p>It gets new Sandboxes again. Those that were stopped there stay stopped until a client starts them.</p>
    case "remove":
      return (
        <>
          <p class="notice">
            <strong>This cannot be undone.</strong> The host is removed permanently, and its id is never used again.
          </p>
          <p>
            {all === 0
              ? "No Sandbox lives there."
              : `Lost with it: the volumes of ${sandboxes(all)}, and everything that runs there (${count(up)} up). Records, logs and outputs can be read, but its Sandboxes cannot be started any more, and deleting them takes effect immediately.`}
          </p>
          {isOnlyThere(host) ? (
            <p>
              Lost with it: {count(host.snapshots?.onlyHere ?? 0)} snapshots and {count(host.images?.onlyHere ?? 0)}{" "}
              uploaded images that are on no other host.
            </p>
          ) : null}
          {isUsed(host) ? (
            <Check
              label="By force"
              name="isForced"
              value="yes"
              hint="The host is in use: without force it is removed only once it is lost, or drained without running Sandboxes, and no snapshot or image is lost with it."
            />
          ) : null}
        </>
      )
  }
}

export const AskHost = ({ wish, host, close }: { wish: Wish; host: Host; close: () => void }) => (
  <Dialog title={`${wishNames[wish]} this host?`} close={close}>
    <p>
      <strong class="break">{labelOf(host)}</strong>
      <code class="soft block">{host.id}</code>
    </p>
    <Form
      label={wishNames[wish]}
      busyLabel="Asking …"
      kind={wish === "remove" ? "danger" : "primary"}
      cancel={close}
      submit={async (data) => {
        const at = `${base}/hosts/${encodeURIComponent(host.id)}`
        await (wish === "remove"
          ? ask("POST", `${at}/remove`, { body: { isForced: data.has("isForced") } })
          : ask("POST", `${at}/wish`, { body: { wish } }))
        close()
      }}
    >
      <Means wish={wish} host={host} />
    </Form>
  </Dialog>
)
