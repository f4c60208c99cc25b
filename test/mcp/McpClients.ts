/** The official clients: of the present specification, and of the year before. Both say what a tool answered in the same way. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"

/** An answer of a tool. */
export interface Told {
  readonly isError: boolean
  /** `structuredContent`, or of an error the Error body. */
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
  readonly callTool: (params: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>
  readonly getInstructions: () => string | undefined
  readonly close: () => Promise<void>
}

const clientOf = (client: Connected): McpClient => ({
  tools: async () => (await client.listTools()).tools,
  names: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, given = {}) => {
    const result = (await client.callTool({ name, arguments: { ...given } })) as {
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

/** A client of the specification of 2026-07-28. */
export const presentClient = async (url: string, key: string): Promise<McpClient> => {
  const client = new Client(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), headersOf(key)))
  return clientOf(client as unknown as Connected)
}

/** A client of the specification of 2025-11-25. */
export const earlierClient = async (url: string, key: string): Promise<McpClient> => {
  const client = new EarlierClient(info)
  await client.connect(new EarlierTransport(new URL(url), headersOf(key)) as never)
  return clientOf(client as unknown as Connected)
}
