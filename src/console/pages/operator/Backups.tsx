/** Backups in the backup folder, the last run, and the start of another. Restores are made on the command line. */
import { useState } from "preact/hooks"
import type { BackupFile, BackupPage, BackupRun } from "../../../../schemas/console/OperatedBackups.ts"
import { get } from "../api.ts"
import { count, size } from "../format.ts"
import { Copy } from "../ui/Copy.tsx"
import { Instant } from "../ui/Instant.tsx"
import { Live } from "../ui/Live.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { type Act, ActDialog } from "./ActDialog.tsx"
import { feedOf, useFollowed } from "./followed.ts"
import { base } from "./operatorSession.ts"
import { Room } from "./Room.tsx"

const startAct = ({ folder, freeBytes }: BackupPage): Act => ({
  title: "Back up now?",
  label: "Start the backup",
  path: "/backups",
  means: `The database and all volumes are written to a new file in ${folder}${freeBytes === null ? "" : `, whose disk has ${size(freeBytes)} free`}, and read again to verify it. Sandboxes go on; a virtual machine pauses for some seconds. The file is not encrypted: only the user of this service may read it.`
})

const isWriting = ({ lastRun }: BackupPage): boolean => lastRun?.state === "writing"

const Run = ({ run }: { run: BackupRun }) => (
  <dl class="facts" data-run={run.state}>
    <dt>Last run</dt>
    <dd>
      <span class={`status ${run.state}`}>{run.state}</span> <code class="break">{run.name}</code>
    </dd>
    <dt>Started</dt>
    <dd>
      <Instant at={run.startedAt} />
    </dd>
    {run.endedAt === null ? null : (
      <>
        <dt>Ended</dt>
        <dd>
          <Instant at={run.endedAt} />
        </dd>
      </>
    )}
    {run.progress === null ? null : (
      <>
        <dt>Now</dt>
        <dd>
          {run.progress.what}
          <Room
            label={`Progress of the backup, ${run.progress.what}`}
            promised={run.progress.doneBytes}
            all={run.progress.allBytes}
            shown={size}
          />
        </dd>
      </>
    )}
    {run.said === null ? null : (
      <>
        <dt>Result</dt>
        <dd class="break">
          <span role="status">{run.said}</span>
        </dd>
      </>
    )}
  </dl>
)

const Files = ({ backups }: { backups: ReadonlyArray<BackupFile> }) => (
  <Table label="Backups" class="operated" columns={["File", "Written", { number: "Size" }, "Verified"]}>
    {backups.map(({ name, writtenAt, bytes, verifiedAt }) => (
      <tr key={name} data-backup={name}>
        <td>
          <code class="break">{name}</code>
        </td>
        <td data-label="Written">
          <Instant at={writtenAt} />
        </td>
        <td class="number">{size(bytes)}</td>
        <td data-label="Verified">
          {verifiedAt === null ? "no: a restore verifies it first" : <Instant at={verifiedAt} />}
        </td>
      </tr>
    ))}
  </Table>
)

/** A path as one word of a shell. */
const word = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

const Commands = ({ folder, backups }: BackupPage) => (
  <section class="pane" aria-label="Commands">
    <h2>On the command line</h2>
    <p>
      A restore makes a new installation in an empty data folder (and, with DATABASE_URL, in an empty database). No
      service may use that folder yet, so a restore is made on the command line. It never writes over this installation.
      Stop this service before you start the restored one on the same port.
    </p>
    <Copy
      text={`ATOLL_DATA_DIR=NEW-FOLDER npm run --silent atoll -- restore ${word(`${folder}/${backups[0]?.name ?? "FILE"}`)}`}
      label="Copy the restore command"
    />
    <p>A backup to any other place, while Atoll runs or not:</p>
    <Copy text="npm run --silent atoll -- backup FILE" label="Copy the backup command" />
  </section>
)

export const Backups = () => {
  const loaded = useFollowed("backups", (signal) => get<BackupPage>(`${base}/backups`, signal))
  const [act, ask] = useState<Act | null>(null)
  const page = loaded.value
  return (
    <>
      <h1>Backups</h1>
      <p class="lead">
        {page === null ? "The backup folder of this service." : `In ${page.folder}, on the machine of this service.`}
      </p>
      <Pane
        title="Backups"
        loaded={loaded}
        age={<Live feed={feedOf(loaded)} at={loaded.at} />}
        actions={
          page === null ? null : (
            <button
              type="button"
              class="button primary"
              aria-disabled={isWriting(page)}
              onClick={() => (isWriting(page) ? undefined : ask(startAct(page)))}
            >
              Back up now
            </button>
          )
        }
      >
        {({ lastRun, backups, count: all }) => (
          <>
            {lastRun === null ? null : <Run run={lastRun} />}
            {backups.length === 0 ? <p class="empty">The folder has no backup yet.</p> : <Files backups={backups} />}
            {all > backups.length ? (
              <p>
                The newest {count(backups.length)} of {count(all)} are shown.
              </p>
            ) : null}
          </>
        )}
      </Pane>
      {page === null ? null : <Commands {...page} />}
      {act === null ? null : <ActDialog act={act} close={() => ask(null)} done={loaded.reload} />}
    </>
  )
}
