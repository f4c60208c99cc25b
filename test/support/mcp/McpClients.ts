/**
 * The official clients, over HTTP and over `atoll mcp`: of the present specification, and of the year before. Both give
 * a tool's answer in the same form.
 */
import { resolve } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as EarlierStdioTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { compiledOnce } from "../compiledOnce.ts"

/** An answer of a tool. */
export interface Told {
  readonly isError: boolean
  /** `structuredContent`, or the Error body of an error. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly answer: any
  readonly text: string
}

export interface McpClient {
  readonly names: () => Promise<ReadonlyArray<string>>
  // biome-ignore lint/suspicious/noExplicitAny: as tools/list tells them
  readonly tools: () => Promise<ReadonlyArray<any>>
  readonly call: (name: string, given?: Readonly<Record<string, unknown>>) => Promise<Told>
  readonly instructions: () => string | undefined
  readonly close: () => Promise<void>
}

const info = { name: "test", version: "1.0.0" }

interface Connected {
  readonly listTools: () => Promise<{ readonly tools: ReadonlyArray<{ readonly name: string }> }>
  readonly getInstructions: () => string | undefined
  readonly close: () => Promise<void>
}

interface Called {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** A call may span a restart of the service, on a busy machine. */
const patience = { timeout: 240_000 }

const clientOf = (client: Connected, callTool: (called: Called) => Promise<unknown>): McpClient => ({
  tools: async () => (await client.listTools()).tools,
  names: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, given = {}) => {
    const result = (await callTool({ name, arguments: { ...given } })) as {
      readonly isError?: boolean
      readonly structuredContent?: unknown
      readonly content: ReadonlyArray<{ readonly text: string }>
    }
    const { text } = result.content[0]!
    return { isError: result.isError === true, answer: result.structuredContent ?? JSON.parse(text), text }
  },
  instructions: () => client.getInstructions(),
  close: () => client.close()
})

const headersOf = (key: string) => ({ requestInit: { headers: { authorization: `Bearer ${key}` } } })

export type Transport = "http" | "stdio"

/** @param url Of the service. */
const commandOf = (url: string, key: string) => ({
  command: process.execPath,
  args: [resolve("clients/typescript/src/cli/main.ts"), "mcp"],
  env: { PATH: process.env["PATH"]!, ATOLL_URL: url, ATOLL_API_KEY: key, ...compiledOnce },
  stderr: "ignore" as const
})

export type MakeClient = (url: string, key: string, transport?: Transport) => Promise<McpClient>

/** A client of the specification of 2026-07-28. */
export const presentClient: MakeClient = async (url, key, transport = "http") => {
  const client = new Client(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } })
  await client.connect(
    transport === "stdio"
      ? new StdioClientTransport(commandOf(url, key))
      : new StreamableHTTPClientTransport(new URL(`${url}/mcp`), headersOf(key))
  )
  return clientOf(client as unknown as Connected, (called) => client.callTool(called, patience))
}

/** A client of the specification of 2025-11-25. */
export const earlierClient: MakeClient = async (url, key, transport = "http") => {
  const client = new EarlierClient(info)
  await client.connect(
    (transport === "stdio"
      ? new EarlierStdioTransport(commandOf(url, key))
      : new EarlierTransport(new URL(`${url}/mcp`), headersOf(key))) as never
  )
  return clientOf(client as unknown as Connected, (called) => client.callTool(called, undefined, patience))
}
