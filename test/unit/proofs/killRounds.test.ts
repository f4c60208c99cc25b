/** The order in which a test kills the service: evenly, and in the end at each effect once. */
import { assert, describe, it } from "vitest"
import { KillRounds } from "../../support/host/KillRounds.ts"

const effects = { start: 20, take: 3 } as const
const actions = ["start", "take"] as const

/** Kills at each place that the rounds name, at most so many. */
const killed = (rounds: KillRounds, killsMax = 1000) => {
  const met: Array<string> = []
  const places = rounds.places(actions, (action) => (action === "take" ? 1 : 6))
  for (let next = places.next(null); !next.done && met.length < killsMax; ) {
    const { action, at } = next.value
    const isThere = at <= effects[action]
    if (isThere) met.push(`${action} ${at}`)
    next = places.next(isThere ? null : effects[action])
  }
  return met
}

const all = actions.flatMap((action) => Array.from({ length: effects[action] }, (_, i) => `${action} ${i + 1}`))
const isOver = () => false
const tell = () => {}

describe("kills at the effects of a host", () => {
  it("meet each effect once, and the report says how many there are", () => {
    const said: Array<string> = []
    const rounds = new KillRounds(6, { isAll: true, seed: 4, isOver, tell: (line) => said.push(line) })
    const met = killed(rounds)
    assert.match(said[0]!, /^start, killed at 5: 1 kills, .* a minute$/)
    assert.match(said.at(-1)!, /: 23 of 23 kills, .* a minute, ends in 0 s$/)
    assert.sameMembers(met, all)
    assert.lengthOf(met, all.length)
    const task = { meta: {} } as never as Parameters<typeof rounds.note>[0]["task"]
    rounds.note({ task }, actions)
    assert.deepStrictEqual(task.meta.kills, { kills: 23, effects: 23, seed: 4 })
  })

  it("are even over all when they end early", () => {
    const met = killed(new KillRounds(6, { isAll: true, seed: 4, isOver, tell }), 6)
    assert.deepStrictEqual(met, ["start 5", "start 11", "start 17", "take 1", "take 2", "take 3"])
  })

  it("are some of them by default, and none once the time is over", () => {
    assert.lengthOf(killed(new KillRounds(6, { isAll: false, seed: 1, isOver, tell })), 7)
    assert.lengthOf(killed(new KillRounds(6, { isAll: true, seed: 1, isOver: () => true, tell })), 0)
  })
})
