/** One command in whose middle the service is killed, and what the cases of `killed.test.ts` share. */
import { assert } from "@effect/vitest"
import type { Atoll, SandboxHandle } from "../../../../clients/typescript/src/index.ts"
import type { Hold } from "../HeldProxy.ts"
import type { customerAt, Ended, Started } from "./Customer.ts"

export interface Asked {
  readonly input?: string | Uint8Array | null
  /** No key is in its environment. */
  readonly isNobody?: boolean
  /** It waits for no answer, so it may be over before the kill. */
  readonly mayBeOver?: boolean
}

export interface Middle extends Started {
  readonly customer: ReturnType<typeof customerAt>
}

export interface World {
  readonly atoll: Atoll
  /** For all cases; none stops it. Something echoes on its port 4000. */
  readonly sandbox: SandboxHandle
  /** Of this case alone, in names and paths. */
  readonly mark: string
  /** A folder of this case alone, on this machine. */
  readonly folder: string
  readonly key: string
  /** A key that may be revoked. */
  readonly anotherKey: () => Promise<string>
  readonly another: () => Promise<SandboxHandle>
  /** Begins the command once every case of the group is prepared. Returns when it is in its middle: when the request is held. */
  readonly begin: (words: ReadonlyArray<string>, hold: Hold | null, asked?: Asked) => Promise<Middle>
  /** To be called in the middle. Returns when the service was killed and answers again. */
  readonly restart: () => Promise<void>
}

export type Case = (world: World) => Promise<void>

/** What it said beside telling that it waited for the service, and where an error is explained. */
export const besides = (stderr: string): string =>
  stderr.replaceAll(/^(?:atoll: http:\S+ (?:does not answer; trying again …|answers again\.)|More: \S+)\n/gm, "")

export const isDone = ({ code, stdout, stderr }: Ended): string => {
  assert.strictEqual(`${code}: ${besides(stderr)}`, "0: ")
  return stdout
}

/** Twice, for there are two ways in which an answer does not come: what was asked for was done, or it was not. */
export const lostAndUnheard = (
  name: string,
  line: RegExp,
  run: (world: World, hold: Hold) => Promise<void>
): Readonly<Record<string, Case>> => ({
  [`${name}: its answer is lost`]: (world) => run(world, { line }),
  [`${name}: it is not heard`]: (world) => run(world, { line, asked: 0 })
})

export const gathered = async <A>(things: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const thing of things) all.push(thing)
  return all
}

export const requested = (method: string, rest: string) =>
  new RegExp(`^${method} /api/v2/sandboxes/sbx_\\w+${rest}[ ?]`)

export const marked = async (atoll: Atoll, mark: string): Promise<ReadonlyArray<SandboxHandle>> =>
  (await gathered(atoll.sandboxes.list())).filter(({ record }) => record.metadata["mark"] === mark)
