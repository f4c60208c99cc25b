import { instant } from "../format.ts"

/** An instant: readable text, with the exact value as an attribute. */
export const Instant = ({ at, none = "–" }: { at: string | null; none?: string }) =>
  at === null ? (
    <span class="soft">{none}</span>
  ) : (
    <time dateTime={at} title={at}>
      {instant(at)}
    </time>
  )
