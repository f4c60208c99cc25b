/**
 * Four concurrent actors, each in a separate directory, on a real agent that is killed with -9 at any moment: each
 * directory is what the model says it was before or after the one call that was under way, and nothing unfinished is
 * left.
 */
import { createHash } from "node:crypto"
import fs from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { FileRefused } from "../../../src/runtime/Guest.ts"
import { FileModel } from "../../support/files/FileModel.ts"
import { TestAgent } from "../../support/files/TestAgent.ts"
import { TestWorkspace } from "../../support/files/TestWorkspace.ts"
import { upload } from "../../support/upload.ts"

/** Calls that are one step: a recursive removal that is cut off leaves what it had not reached yet. */
type Call =
  | { readonly call: "write"; readonly name: string; readonly letter: string; readonly bytes: number }
  | { readonly call: "edit"; readonly name: string; readonly letter: string }
  | { readonly call: "directory" | "remove"; readonly name: string }
  | { readonly call: "replace"; readonly name: string; readonly to: string }

const name = fc.constantFrom("a", "b", "c", "a/x", "b/x")
const letter = fc.constantFrom("p", "q", "r")
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      call: fc.constant("write" as const),
      name,
      letter,
      bytes: fc.constantFrom(1, 1000, 300_000)
    })
  },
  { weight: 2, arbitrary: fc.record({ call: fc.constant("edit" as const), name, letter }) },
  { weight: 2, arbitrary: fc.record({ call: fc.constantFrom("directory" as const, "remove" as const), name }) },
  { weight: 2, arbitrary: fc.record({ call: fc.constant("replace" as const), name, to: name }) }
)

/** Every content is one letter repeated, so that a mix would show, and an edit makes it the letter twice. */
const expected = (model: FileModel, root: string, it: Call): string => {
  const path = `${root}/${it.name}`
  switch (it.call) {
    case "write":
      return model.write(path, it.letter.repeat(it.bytes))
    case "edit": {
      const old = model.read(path)
      return /^[pqr]+$/.test(old) ? model.write(path, it.letter.repeat(2)) : old
    }
    case "directory":
      return model.makeDirectory(path, false)
    case "remove":
      return model.remove(path, false)
    case "replace":
      return model.rename(path, `${root}/${it.to}`, true)
  }
}

const actual = (agent: TestAgent, root: string, it: Call, before: string) => {
  const path = `${root}/${it.name}`
  switch (it.call) {
    case "write":
      return agent.files.write(path, upload([Buffer.from(it.letter.repeat(it.bytes))]))
    case "edit":
      return agent.files.edit(path, {
        expectedSha256: createHash("sha256").update(before).digest("hex"),
        oldText: /^[pqr]+$/.test(before) ? before : "none",
        newText: it.letter.repeat(2),
        replaceAll: false
      })
    case "directory":
      return agent.files.createDirectory(path, { recursive: false })
    case "remove":
      return agent.files.remove(path, { recursive: false })
    case "replace":
      return agent.files.rename(path, `${root}/${it.to}`, { overwrite: true })
  }
}

const after = (root: string, calls: ReadonlyArray<Call>): FileModel => {
  const model = new FileModel(root)
  for (const one of calls) expected(model, root, one)
  return model
}

/** Makes the calls until the agent is gone; returns how many were answered. */
const act = async (agent: TestAgent, root: string, calls: ReadonlyArray<Call>): Promise<number> => {
  const model = new FileModel(root)
  for (const [made, one] of calls.entries()) {
    const before = model.read(`${root}/${one.name}`)
    const code = await Effect.runPromise(
      Effect.match(actual(agent, root, one, before), {
        onSuccess: () => "ok",
        onFailure: (failure) => (failure instanceof FileRefused ? failure.code : null)
      })
    )
    if (code === null) return made
    expect(code, JSON.stringify(one)).toBe(expected(model, root, one))
  }
  return calls.length
}

it("an agent that is killed leaves each call done or not done, and no staging files", {
  timeout: 240_000
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(call, { minLength: 20, maxLength: 40, size: "max" }), { minLength: 4, maxLength: 4 }),
      fc.integer({ min: 1, max: 250 }),
      async (actors, killAfterMs) => {
        using at = new TestWorkspace()
        const agent = await TestAgent.start(at.base)
        for (const actor of actors.keys()) fs.mkdirSync(at.on(String(actor)))
        const acting = Promise.all(actors.map((calls, actor) => act(agent, `/workspace/${actor}`, calls)))
        await Promise.race([acting, sleep(killAfterMs)])
        await agent.kill()
        const answered = await acting

        const next = await TestAgent.start(at.base)
        try {
          await Effect.runPromise(next.files.stat("/workspace"))
          expect(fs.readdirSync(at.root).toSorted()).toEqual(["0", "1", "2", "3"])
        } finally {
          await next.kill()
        }
        const tree = at.tree()
        for (const [actor, calls] of actors.entries()) {
          const own = tree
            .filter((line) => line.startsWith(`${actor}/`) && line !== `${actor}/`)
            .map((line) => line.slice(`${actor}/`.length))
          const made = calls.slice(0, answered[actor])
          const possible = [made, calls.slice(0, made.length + 1)].map((done) =>
            after(`/workspace/${actor}`, done).tree()
          )
          expect(possible, JSON.stringify(calls.slice(0, made.length + 1))).toContainEqual(own)
        }
      }
    ),
    { numRuns: 12 }
  )
})
