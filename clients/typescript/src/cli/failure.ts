/** The failure of a command: its exit code, and a sentence with the next step. */
import { AtollError, ConnectionError, ConnectionLost, isRecord } from "../errors.ts"

/** 0: done. `run`, `shell` and `ssh` end like the command in the Sandbox, and with `notRun` if Atoll failed. */
export const exitCodes = {
  done: 0,
  /** Understood and not done. */
  refused: 1,
  /** The command line makes no sense. */
  wrongUsage: 2,
  /** The command's own time limit ended it; as of timeout(1). */
  timedOut: 124,
  /** The command did not run to its end; as of env(1). */
  notRun: 125,
  interrupted: 130,
  /** The reader of the output has gone: 128 and SIGPIPE. */
  readerGone: 141
} as const

/** The request was understood and is refused. `message` gives the reason and the next step. */
export class Refused extends Error {
  override readonly name = "Refused"
  /** Null: the command's own code for a failure. */
  readonly exitCode: number | null

  /** @param cause The error that this one explains. */
  constructor(message: string, exitCode: number | null = null, cause?: unknown) {
    super(message, { cause })
    this.exitCode = exitCode
  }
}

/** The command line makes no sense. `message` says how it would. */
export class WrongUsage extends Error {
  override readonly name = "WrongUsage"
}

const codeOf = (fault: unknown): string | null => {
  for (let cause = fault; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as { readonly code?: unknown }
    if (typeof code === "string" && /^[A-Z_]+$/.test(code)) return code
  }
  return null
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "its name cannot be looked up now",
  ETIMEDOUT: "the connection timed out",
  ECONNRESET: "it cut the connection",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no network",
  EPIPE: "it cut the connection",
  UND_ERR_SOCKET: "it cut the connection",
  UND_ERR_CONNECT_TIMEOUT: "the connection timed out",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed: name it in NODE_EXTRA_CA_CERTS",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is of an authority that is not known here: name it in NODE_EXTRA_CA_CERTS",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate is of an authority that is not known here: name it in NODE_EXTRA_CA_CERTS",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is another host's"
}

const lookFirst = "It may have been done: look before you repeat it."

const unreached = (fault: ConnectionError, url: string, advice: string): string => {
  const code = codeOf(fault.cause)
  const why = code === null ? fault.message.replace(/\.$/, "") : (reasons[code] ?? code)
  if (fault.outcome === "unknown") return `The connection to the service at ${url} was lost: ${why}. ${advice}`
  return `The service at ${url} was not reached: ${why}. Give another address by --url, ATOLL_URL or \`atoll login\`.`
}

const sentencePart = (text: string): string => text.replace(/\s+$/, "")

const refused = (fault: AtollError, url: string, advice: string): string => {
  const said = sentencePart(fault.message)
  if (fault.is("UNAUTHENTICATED")) {
    const mend = process.env["ATOLL_API_KEY"] ? "Mend ATOLL_API_KEY." : "Log in with another: `atoll login`."
    return `The service at ${url} does not take this API key: it was revoked, has expired, or is another service's. ${mend}`
  }
  if (fault.is("SCOPE_REQUIRED")) {
    return `This API key may not do that: it lacks the scope ${fault.details.scope}. Log in with one that has it (\`atoll login\`); keys are made in the service's console.`
  }
  if (fault.is("CREDIT_EXHAUSTED")) {
    return `${said} \`atoll usage\` shows the credit that was used. The operator of the service at ${url} can grant more.`
  }
  if (fault.is("SANDBOX_LIMIT_REACHED"))
    return `${said} \`atoll sandbox list\` shows the account's Sandboxes; delete one.`
  if (fault.is("SANDBOX_UNAVAILABLE") && fault.details.status === "stopped") {
    return `${said} \`atoll sandbox start\` boots it again.`
  }
  if (fault.status < 500) return said
  const unknown = fault.outcome === "unknown" ? ` ${advice}` : ""
  const named = (fault.status === 500 || unknown !== "") && fault.requestId !== ""
  return `${said}${unknown}${named ? ` (${fault.requestId})` : ""}`
}

/**
 * @param url Of the service.
 * @param advice The next step when the outcome is unknown.
 */
export const sentenceOf = (fault: unknown, url: string, advice = lookFirst): string => {
  if (fault instanceof AtollError) return refused(fault, url, advice)
  if (fault instanceof ConnectionLost) return fault.message
  if (fault instanceof ConnectionError) return unreached(fault, url, advice)
  return fault instanceof Error && fault.message !== ""
    ? fault.message
    : String(isRecord(fault) ? fault["code"] : fault)
}

/** @param failsWith Of the command. */
export const exitCodeOf = (fault: unknown, failsWith: number = exitCodes.refused): number => {
  if (fault instanceof WrongUsage) return exitCodes.wrongUsage
  return (fault instanceof Refused ? fault.exitCode : null) ?? failsWith
}
