import { count, size } from "../../format.ts"
import { Fault } from "../../ui/Fault.tsx"
import { useValue } from "../../useValue.ts"
import { nameOf } from "./address.ts"
import { FileName } from "./FileName.tsx"
import { dismiss, hideDone, sendAgain, type Upload, type UploadState, uploads } from "./uploadQueue.ts"
import { visibleName } from "./visible.ts"

const One = ({ upload: { id, path, file, now } }: { upload: Upload }) => {
  const name = visibleName(nameOf(path))
  return (
    <li class="upload" data-state={now.state}>
      <span class="upload-name break">
        <FileName name={nameOf(path)} />
      </span>
      <span class="soft">
        {now.state === "waiting"
          ? "waits"
          : now.state === "sending"
            ? `${size(now.sent)} of ${size(file.size)}`
            : now.state === "done"
              ? `${size(file.size)}, uploaded`
              : now.state === "asking"
                ? "A file with this name already exists."
                : "failed"}
      </span>
      {now.state === "sending" ? (
        <progress value={now.sent} max={Math.max(1, file.size)} aria-label={`Upload of ${name}`} />
      ) : null}
      <span class="actions">
        {now.state === "asking" ? (
          <button type="button" class="button small" onClick={() => sendAgain(id, true)} aria-label={`Replace ${name}`}>
            Replace
          </button>
        ) : null}
        {now.state === "failed" ? (
          <button
            type="button"
            class="button small"
            onClick={() => sendAgain(id, false)}
            aria-label={`Try the upload of ${name} again`}
          >
            Try again
          </button>
        ) : null}
        <button
          type="button"
          class="button small"
          onClick={() => dismiss(id)}
          aria-label={`${now.state === "done" ? "Hide" : "Cancel"} the upload of ${name}`}
        >
          {now.state === "done" ? "Hide" : "Cancel"}
        </button>
      </span>
      {now.state === "failed" ? <Fault fault={now.fault} /> : null}
    </li>
  )
}

/** Of many uploads, those that need a decision come first, and not all are shown. */
const shownMost = 30
const urgency: Readonly<Record<UploadState["state"], number>> = {
  asking: 0,
  failed: 1,
  sending: 2,
  waiting: 3,
  done: 4
}

const shownOf = (all: ReadonlyArray<Upload>): ReadonlyArray<Upload> =>
  all.length <= shownMost
    ? all
    : all.toSorted((one, other) => urgency[one.now.state] - urgency[other.now.state]).slice(0, shownMost)

/** The uploads into one Sandbox, to any folder. */
export const Uploads = ({ sandboxId }: { sandboxId: string }) => {
  const ours = useValue(uploads).filter((one) => one.sandboxId === sandboxId)
  if (ours.length === 0) return null
  const done = ours.filter(({ now }) => now.state === "done").length
  return (
    <section class="uploads" aria-label="Uploads">
      <div class="file-tools">
        <p role="status" class="hint">
          {done} of {ours.length === 1 ? "1 file" : `${ours.length} files`} uploaded
        </p>
        {done > 1 ? (
          <button type="button" class="button small" onClick={() => hideDone(sandboxId)}>
            Hide those
          </button>
        ) : null}
      </div>
      <ul>
        {shownOf(ours).map((one) => (
          <One key={one.id} upload={one} />
        ))}
      </ul>
      {ours.length > shownMost ? <p class="hint">and {count(ours.length - shownMost)} more</p> : null}
    </section>
  )
}
