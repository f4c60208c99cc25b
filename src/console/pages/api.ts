/** Requests to the service, as the signed-in account. */
import { signal } from "@preact/signals"

/** What is wrong with one field of a request. */
export interface Issue {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/** A refusal or a failure, in the service's words. `requestId` finds it in the service's log; null if no response came. */
export class ApiFault extends Error {
  readonly status: number | null
  readonly code: string
  readonly requestId: string | null
  readonly issues: ReadonlyArray<Issue>

  constructor(
    status: number | null,
    code: string,
    message: string,
    requestId: string | null,
    issues: ReadonlyArray<Issue> = []
  ) {
    super(message)
    this.issues = issues
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

interface ErrorBody {
  readonly code: string
  readonly message: string
  readonly requestId: string
  readonly details: { readonly issues?: ReadonlyArray<Issue> } | null
}

/** The CSRF token; null: not signed in. */
export const csrf = signal<string | null>(null)

/** Counts responses that said the session has ended. */
export const signedOut = signal(0)

const isErrorBody = (body: unknown): body is ErrorBody =>
  typeof body === "object" && body !== null && "code" in body && "message" in body && "requestId" in body

/** The message, with the issues of each field. */
const sentenceOf = ({ message, details }: ErrorBody): string => {
  const issues = details?.issues ?? []
  return issues.length === 0 ? message : issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")
}

const faultOf = async (answer: Response): Promise<ApiFault> => {
  const body: unknown = await answer.json().catch(() => null)
  const requestId = answer.headers.get("x-request-id")
  return isErrorBody(body)
    ? new ApiFault(answer.status, body.code, sentenceOf(body), body.requestId, body.details?.issues)
    : new ApiFault(
        answer.status,
        "UNKNOWN",
        `The service answered with status ${answer.status} and no message.`,
        requestId
      )
}

export const unreached = (): ApiFault =>
  new ApiFault(null, "UNREACHED", "The service does not answer. Check your connection, and try again.", null)

/** Throws the response's error, and records an ended session. */
export const refuse = async (answer: Response): Promise<never> => {
  const fault = await faultOf(answer)
  if (fault.status === 401 && csrf.value !== null) signedOut.value++
  throw fault
}

export interface Ask {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** The response, with any body; throws a refusal. */
export const open = async (
  method: string,
  path: string,
  { body, headers = {}, signal: aborted }: Ask = {}
): Promise<Response> => {
  const init: RequestInit = {
    method,
    credentials: "same-origin",
    headers: {
      ...(csrf.value === null ? {} : { "x-atoll-csrf": csrf.value }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(aborted === undefined ? {} : { signal: aborted })
  }
  const answer = await fetch(path, init).catch((cause: unknown) => {
    if (aborted?.aborted === true) throw cause
    throw unreached()
  })
  return answer.ok ? answer : refuse(answer)
}

/** The parsed JSON body; null without a body. */
export const ask = async <A>(method: string, path: string, given: Ask = {}): Promise<A> => {
  const answer = await open(method, path, given)
  return (answer.status === 204 ? null : await answer.json()) as A
}

export const get = <A>(path: string, signal?: AbortSignal): Promise<A> =>
  ask<A>("GET", path, signal === undefined ? {} : { signal })

/** A new key for each resource to create; a retry sends the same key. */
export const idempotencyKey = (): string =>
  // Not `randomUUID`, which browsers offer only on pages from TLS or localhost.
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

/** `?a=b`, without empty parameters. */
export const queryOf = (parameters: Readonly<Record<string, string | number | null>>): string => {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === null || value === "" ? [] : [[name, String(value)]]
  )
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`
}
