/** A login shell on a terminal in a Sandbox, over a WebSocket. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, ReadsContent, RequiredScope } from "./Access.ts"
import { CreditExhausted, InvalidRequest, NotFound, RateLimited, SandboxUnavailable } from "./Errors.ts"
import { SandboxId } from "./Identifiers.ts"
import {
  terminalColumnsDefault,
  terminalColumnsMax,
  terminalControlMaxBytes,
  terminalInputMaxBytes,
  terminalRowsDefault,
  terminalRowsMax,
  terminalsPerSandbox
} from "./Limits.ts"
import { integerWithDefault } from "./Query.ts"

/** The subprotocol; an API key or a ticket of the console may follow it. */
export const terminalProtocol = "atoll.terminal"

const columns = { minimum: 1, maximum: terminalColumnsMax }
const rows = { minimum: 1, maximum: terminalRowsMax }

/** A text frame of the client. */
export const TerminalControl = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("resize"),
    columns: Schema.Int.check(Schema.isBetween(columns)),
    rows: Schema.Int.check(Schema.isBetween(rows))
  }),
  Schema.Struct({ type: Schema.Literals(["pause", "resume"]) })
])
export type TerminalControl = typeof TerminalControl.Type

/** The only text frame of the server, before it closes. */
export interface TerminalExit {
  readonly type: "exit"
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  /** `SIGTERM` spelling. */
  readonly signal: string | null
}

export const terminalQuery = {
  columns: integerWithDefault(columns, terminalColumnsDefault, "Width, in characters."),
  rows: integerWithDefault(rows, terminalRowsDefault, "Height, in characters.")
}

export class TerminalsGroup extends HttpApiGroup.make("terminals")
  .add(
    HttpApiEndpoint.get("openTerminal", "/sandboxes/:id/terminal", {
      params: { id: SandboxId },
      query: terminalQuery,
      success: Schema.Void.annotate({
        description: "Switching Protocols: the shell runs, and the connection is a WebSocket from here on."
      }).pipe(HttpApiSchema.status(101)),
      error: [InvalidRequest, NotFound, CreditExhausted, RateLimited, SandboxUnavailable]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(ReadsContent, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "openTerminal",
          summary: "Open a terminal (WebSocket)",
          description: [
            "A WebSocket handshake (RFC 6455) with the API key as Authorization. Who can set no header sends the subprotocols `atoll.terminal` and the API key; a page of the console sends in its place a ticket: what POST /console/api/tickets gives, good for one handshake. The answer names `atoll.terminal` where it was offered. The user's login shell runs on a terminal of that size, in /workspace, with TERM=xterm-256color.",
            "",
            "| frame | client | server |",
            "| --- | --- | --- |",
            `| binary | input, at most ${terminalInputMaxBytes} bytes a frame | output, as it comes; characters may be cut between frames |`,
            `| text | one JSON object of at most ${terminalControlMaxBytes} bytes: \`{"type":"resize","columns":80,"rows":24}\`; \`{"type":"pause"}\` and \`{"type":"resume"}\`, between which nothing is sent | once, after all output: \`{"type":"exit","exitCode":0,"signal":null}\` |`,
            "",
            "A client that does not read holds the shell back; nothing is dropped. Pings are answered; a client that answers none for a minute is gone.",
            "",
            "The connection and the shell end together. Processes that were started in the terminal and did not detach from it are ended with the connection (HUP and TERM, KILL after 2 s). Close codes of the server, each but the first with a sentence: 1000 after `exit`; 1001 the service stops; 1002, 1007 and 1009 no well-formed frame, text that is no UTF-8, too large a frame; 1008 a text frame that is none of these, or the key, the session or the account may not any more; 1011 the Sandbox stopped, or the connection into it broke.",
            "",
            `Refused before the handshake is answered, with the body Error: 404, 402 and 502 in this order (a sleeping Sandbox wakes, a pending one is waited for); 429 when ${terminalsPerSandbox} terminals are open in this Sandbox, or as many connections or streams as a setting allows, or what runs in it leaves no pseudo-terminal (a namespace has 64) to another one, and none comes free within seconds. Asked without a handshake, it refuses for the same reasons in the same order, and last of all with 400: so a page learns why its handshake failed.`
          ].join("\n")
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Terminals", description: "A shell, live." })) {}
