/** All that the service says of an operation. */

import type { Operation } from "../../../../schemas/Operation.ts"
import { oneLine } from "../characterPicture.ts"
import { duration, size } from "../format.ts"
import type { FollowedLife } from "../machine/useLife.ts"
import { isWaitingOperation } from "../states.ts"
import { Instant } from "../ui/Instant.tsx"

const argumentMaxCharacters = 2000

const None = () => <span class="soft">–</span>

const Argument = ({ text }: { text: string }) => (
  <li>
    <code class="break">{oneLine(text.slice(0, argumentMaxCharacters))}</code>
    {text.length > argumentMaxCharacters ? (
      <span class="soft"> … and {text.length - argumentMaxCharacters} characters more</span>
    ) : null}
  </li>
)

const took = ({ startedAt, finishedAt }: Operation): string | null =>
  startedAt === null || finishedAt === null ? null : duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)

/** Undefined: its history is not loaded yet. */
const limitOf = ({ stored }: FollowedLife): number | null | undefined =>
  stored === null ? undefined : (stored.context["timeoutMs"] as number | null)

export const OperationFacts = ({ operation, life }: { operation: Operation; life: FollowedLife }) => {
  const { id, status, argv, cwd, exitCode, signal, reason, createdAt, startedAt, finishedAt, processTree, output } =
    operation
  const limitMs = limitOf(life)
  const requestId = life.revisions[0]?.transition.requestId ?? null
  return (
    <dl class="facts of-operation">
      <dt>Id</dt>
      <dd class="whole">
        <code class="break">{id}</code>
      </dd>
      <dt>Program and arguments</dt>
      <dd class="whole">
        <ol class="argv" start={0}>
          {argv.map((text, index) => (
            <Argument key={index} text={text} />
          ))}
        </ol>
      </dd>
      <dt>Folder</dt>
      <dd class="whole">
        <code class="break">{oneLine(cwd)}</code>
      </dd>
      <dt>Exit code</dt>
      <dd>{exitCode ?? <None />}</dd>
      <dt>Signal</dt>
      <dd>{signal ?? <None />}</dd>
      <dt>Reason</dt>
      <dd class="whole">
        {reason === null ? (
          <None />
        ) : (
          <>
            <code>{reason.code}</code> <span class="break">{reason.message}</span>
          </>
        )}
      </dd>
      <dt>Accepted</dt>
      <dd>
        <Instant at={createdAt} />
      </dd>
      <dt>Began</dt>
      <dd>
        <Instant at={startedAt} />
      </dd>
      <dt>Ended</dt>
      <dd>
        <Instant at={finishedAt} />
      </dd>
      <dt>Took</dt>
      <dd>{took(operation) ?? <None />}</dd>
      <dt>Time limit</dt>
      <dd>
        {limitMs === undefined ? <None /> : limitMs === null ? "none" : `${duration(limitMs / 1000)} from its start`}
      </dd>
      <dt>Processes</dt>
      <dd>{isWaitingOperation(status) ? "none yet: it waits for its turn" : processTree}</dd>
      <dt>Written</dt>
      <dd>
        {size(output.stdoutBytes)} to stdout, {size(output.stderrBytes)} to stderr
      </dd>
      <dt>Request</dt>
      <dd>{requestId === null ? <None /> : <code class="break">{requestId}</code>}</dd>
    </dl>
  )
}
