import { ApiFault } from "../api.ts"

const messageOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault))

/** An error in the service's words, with the request id for its operator. */
export const Fault = ({ fault, retry }: { fault: unknown; retry?: (() => void) | undefined }) => {
  if (fault === null || fault === undefined) return null
  const known = fault instanceof ApiFault ? fault : null
  return (
    <div class="fault" role="alert">
      <p>{messageOf(fault)}</p>
      {known === null ? null : (
        <p class="fault-id">
          {known.requestId === null ? (
            known.code
          ) : (
            <>
              <a href={`/docs#${known.code}`} target="_blank" rel="noopener">
                {known.code}
              </a>
              {" · "}request <code>{known.requestId}</code>
            </>
          )}
        </p>
      )}
      {retry === undefined ? null : (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}
