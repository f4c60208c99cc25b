import { instant } from "../format.ts"

/** An instant of the service, as people read it and as it is. */
export const Instant = ({ at, none = "–" }: { at: string | null; none?: string }) =>
  at === null ? (
    <span class="soft">{none}</span>
  ) : (
    <time dateTime={at} title={at}>
      {instant(at)}
    </time>
  )
