/** The facts of a Sandbox. */
import type { ComponentChildren } from "preact"
import { useId, useState } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import type { Workspace } from "../../../../schemas/Workspace.ts"
import { get } from "../api.ts"
import { oneLine } from "../characterPicture.ts"
import { duration, size } from "../format.ts"
import { useLoad } from "../load.ts"
import { isGone } from "../sandboxes/SandboxActions.tsx"
import { CopyShort } from "../ui/CopyShort.tsx"
import { Instant } from "../ui/Instant.tsx"
import { lazy } from "../ui/Lazy.tsx"
import { Link } from "../ui/Link.tsx"
import { useEvery } from "../useEvery.ts"

const runtimes: Readonly<Record<Sandbox["runtime"], string>> = {
  vm: "virtual machine",
  namespace: "Linux namespaces"
}

const Fact = ({ name, isLong = false, children }: { name: string; isLong?: boolean; children: ComponentChildren }) => (
  <div class={isLong ? "fact long" : "fact"}>
    <dt>{name}</dt>
    <dd class="break">{children}</dd>
  </div>
)

/** Its name, if known; a deleted workspace has none. */
const WorkspaceFact = ({ id }: { id: string }) => {
  const { value } = useLoad(`workspace ${id}`, (signal) =>
    get<{ readonly workspace: Workspace }>(`/api/v2/workspaces/${id}`, signal)
  )
  return <Link to={`/workspaces/${id}`}>{value === null ? id : oneLine(value.workspace.name)}</Link>
}

/** The remaining time, by this browser's clock. */
const Until = ({ at }: { at: string }) => {
  const [now, setNow] = useState(Date.now)
  useEvery(1000, () => setNow(Date.now()))
  const seconds = (Date.parse(at) - now) / 1000
  return <span class="soft">({seconds > 0 ? `in ${duration(seconds)}` : "now"})</span>
}

const ends = {
  stopAt: "Stops at",
  idleStopAt: "Stops when idle until",
  deleteAt: "Will be deleted at"
} as const

/** The limits of its lifetime, if any. */
const Lifetime = ({ lifetime }: Pick<Sandbox, "lifetime">) => {
  const { stopAfterSeconds, stopAfterIdleSeconds, deleteAfterStoppedSeconds } = lifetime
  const parts = [
    stopAfterSeconds === null ? null : `stops after ${duration(stopAfterSeconds)}`,
    stopAfterIdleSeconds === null ? null : `stops after ${duration(stopAfterIdleSeconds)} without use`,
    deleteAfterStoppedSeconds === null ? null : `is deleted after ${duration(deleteAfterStoppedSeconds)} stopped`
  ].filter((part) => part !== null)
  if (parts.length === 0) return null
  return (
    <>
      <Fact name="Lifetime" isLong>
        {parts.join("; ")}
      </Fact>
      {(["stopAt", "idleStopAt", "deleteAt"] as const).map((end) =>
        lifetime[end] === null ? null : (
          <Fact key={end} name={ends[end]}>
            <Instant at={lifetime[end]} /> <Until at={lifetime[end]} />
          </Fact>
        )
      )}
    </>
  )
}

/** The snapshots that it takes by itself, if any. */
const Checkpoints = ({ checkpoints, lastCheckpoint }: Pick<Sandbox, "checkpoints" | "lastCheckpoint">) => {
  if (checkpoints === null) return null
  const { everySeconds, onStop, keep, nextAt } = checkpoints
  const parts = [
    everySeconds === null ? null : `every ${duration(everySeconds)}`,
    onStop ? "at each stop" : null,
    `${keep} stay`
  ].filter((part) => part !== null)
  return (
    <>
      <Fact name="Checkpoints" isLong>
        {parts.join("; ")}
        {lastCheckpoint === null || lastCheckpoint.error === null
          ? null
          : `; the last was refused: ${lastCheckpoint.error.message}`}
      </Fact>
      {nextAt === null ? null : (
        <Fact name="Next checkpoint at">
          <Instant at={nextAt} /> <Until at={nextAt} />
        </Fact>
      )}
    </>
  )
}

/** Longer metadata is folded. */
const metadataMaxCharacters = 400

const Metadata = ({ metadata }: Pick<Sandbox, "metadata">) => {
  const pairs = Object.entries(metadata).map(([key, value]) => oneLine(`${key}=${value}`))
  if (pairs.length === 0) return null
  const list = (
    <ul class="words">
      {pairs.map((pair) => (
        <li key={pair}>
          <code class="break">{pair}</code>
        </li>
      ))}
    </ul>
  )
  return (
    <div class="fact wide">
      <dt>Metadata</dt>
      <dd>
        {pairs.join("").length <= metadataMaxCharacters ? (
          list
        ) : (
          <details>
            <summary>{pairs.length} pairs</summary>
            {list}
          </details>
        )}
      </dd>
    </div>
  )
}

const All = ({ sandbox }: { sandbox: Sandbox }) => {
  const { id, profile, volume } = sandbox
  return (
    <dl class="facts-grid">
      <Fact name="Id" isLong>
        {/* Without a name, the title is the id. */}
        <CopyShort text={id} label="Copy the id" isShown={sandbox.name !== null} />
      </Fact>
      <Fact name="Workspace">
        <WorkspaceFact id={sandbox.workspaceId} />
      </Fact>
      <Fact name="Runtime">{runtimes[sandbox.runtime]}</Fact>
      <Fact name="vCPUs">{profile.vcpus}</Fact>
      <Fact name="Memory">{size(profile.memoryBytes)}</Fact>
      <Fact name="Volume" isLong>
        {size(volume.sizeBytes)} <code class="soft block">{volume.id}</code>
      </Fact>
      <Fact name="Network">{sandbox.networkEnabled ? "internet" : "none"}</Fact>
      <Fact name="Generation">{sandbox.generation}</Fact>
      <Fact name="Created">
        <Instant at={sandbox.createdAt} />
      </Fact>
      <Fact name="Last started">
        <Instant at={sandbox.startedAt} none="never" />
      </Fact>
      {sandbox.stoppedAt === null ? null : (
        <Fact name="Stopped">
          <Instant at={sandbox.stoppedAt} />
        </Fact>
      )}
      {sandbox.deletedAt === null ? null : (
        <Fact name="Deleted">
          <Instant at={sandbox.deletedAt} />
        </Fact>
      )}
      <Fact name="Last changed">
        <Instant at={sandbox.updatedAt} />
      </Fact>
      <Lifetime lifetime={sandbox.lifetime} />
      <Checkpoints checkpoints={sandbox.checkpoints} lastCheckpoint={sandbox.lastCheckpoint} />
      {sandbox.envNames.length === 0 ? null : (
        <Fact name="Variables" isLong>
          <code>{sandbox.envNames.join(", ")}</code>
        </Fact>
      )}
      <Metadata metadata={sandbox.metadata} />
    </dl>
  )
}

/** When it ends by itself, if it does: the first of these. */
const End = ({ lifetime: { stopAt, idleStopAt, deleteAt } }: Pick<Sandbox, "lifetime">) => {
  const [what, at] =
    deleteAt !== null ? ["is deleted", deleteAt] : stopAt !== null ? ["stops", stopAt] : ["stops when idle", idleStopAt]
  return at === null ? null : (
    <>
      {" "}
      · {what} <Until at={at} />
    </>
  )
}

/** The facts that matter most, in one line. */
const Line = ({ sandbox }: { sandbox: Sandbox }) => {
  const { runtime, profile, networkEnabled, lifetime, workspaceId } = sandbox
  return (
    <>
      <WorkspaceFact id={workspaceId} /> · {profile.vcpus} vCPU · {size(profile.memoryBytes)} · {runtimes[runtime]} ·{" "}
      {networkEnabled ? "internet" : "no network"}
      <End lifetime={lifetime} />
    </>
  )
}

const ChangeSandbox = lazy("change", async () => (await import("../sandboxes/ChangeSandbox.tsx")).ChangeSandbox)

interface Asked {
  readonly sandbox: Sandbox
  readonly changed: () => void
}

export const Facts = ({ sandbox, changed }: Asked) => {
  const [changes, setChanges] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const { statusReason } = sandbox
  return (
    <section class="pane facts-pane" aria-label="Facts">
      {statusReason === null ? null : (
        <p class="said">
          {statusReason.message} <code>{statusReason.code}</code>
        </p>
      )}
      <div class="facts-line">
        <button
          type="button"
          class="button small"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
        >
          Facts
        </button>
        <span class="cut">{isOpen ? null : <Line sandbox={sandbox} />}</span>
        {isGone(sandbox) ? null : (
          <button type="button" class="button small" onClick={() => setChanges(true)} aria-label="Change this Sandbox">
            Change
          </button>
        )}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen ? <All sandbox={sandbox} /> : null}
      </div>
      {changes ? <ChangeSandbox sandbox={sandbox} close={() => setChanges(false)} changed={changed} /> : null}
    </section>
  )
}
