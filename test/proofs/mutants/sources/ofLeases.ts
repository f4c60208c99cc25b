// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are of sources
/** Mistakes of the leases by which processes own shards: renewal, expiry, takeover, epochs, joining and leaving. */
import type { TextMutant } from "./TextMutant.ts"

const statements = "src/store/leaseStatements.ts"
const held = "src/store/HeldShards.ts"
const leasing = "src/store/shardLeasing.ts"
const service = ["test/service/store/ProcessLeases.test.ts"]
const suites = ["test/unit/store/HeldShards.test.ts", "test/unit/store/shardLeasing.test.ts"]

export const ofLeases: ReadonlyArray<TextMutant> = [
  {
    id: "a renewed lease counts from the answer",
    file: leasing,
    from: "held.renewed(asked, rows.length > 0",
    to: "held.renewed(performance.now(), rows.length > 0",
    suites: service
  },
  {
    id: "a first lease counts from the answer",
    file: "src/store/ProcessLeases.ts",
    from: "held.joined(asked)",
    to: "held.joined(performance.now())",
    suites: service
  },
  {
    id: "a lease never ends for its holder",
    file: held,
    from: "return performance.now() < this.#heldUntil",
    to: "return true",
    suites
  },
  {
    id: "a process that was removed believes in its lease",
    file: held,
    from: "isRegistered ? asked + this.#leaseMs : 0",
    to: "asked + this.#leaseMs",
    suites
  },
  {
    id: "a shard that another process was given stays",
    file: held,
    from: "if (!ours.includes(shard)) this.#held.delete(shard)",
    to: "if (ours.length < 0) this.#held.delete(shard)",
    suites
  },
  {
    id: "a shard that comes back goes on in its old epoch",
    file: held,
    from: "this.#held.set(shard, ++this.#epochs)",
    to: "this.#held.set(shard, 1)",
    suites
  },
  {
    id: "a process that joins again keeps its shards",
    file: held,
    from: "this.#held.clear()\n    this.#heldUntil",
    to: "this.#heldUntil",
    suites
  },
  {
    id: "a shard that was just asked for is given back",
    file: held,
    from: "[...shards, ...this.#justAsked()]",
    to: "[...shards]",
    suites
  },
  {
    id: "a shard that was asked for long ago is kept",
    file: held,
    from: "filter(([, at]) => at >= before)",
    to: "filter(([, at]) => at >= before || true)",
    suites
  },
  {
    id: "a process whose lease is over counts as living",
    file: statements,
    from: "where not leaving and lease_until > clock_timestamp()`",
    to: "where not leaving`",
    suites: service
  },
  {
    id: "a process that leaves counts as living",
    file: statements,
    from: "where not leaving and lease_until > clock_timestamp()`",
    to: "where lease_until > clock_timestamp()`",
    suites: service
  },
  {
    id: "the shards of a living process are taken",
    file: statements,
    from: "where lease_until < clock_timestamp() and id <> ${id}",
    to: "where id <> ${id}",
    suites: service
  },
  {
    id: "the shards of a dead process are never taken",
    file: statements,
    from: "where lease_until < clock_timestamp() and id <> ${id}",
    to: "where false and id <> ${id}",
    suites: service
  },
  {
    id: "a renewal renews nothing",
    file: statements,
    from: "set lease_until = clock_timestamp() + ${interval}::interval where id = ${id} returning id",
    to: "set lease_until = lease_until where id = ${id} returning id",
    suites: service
  },
  {
    id: "shards that came too late are kept from all others",
    file: statements,
    from: "where process_id = renewed.id and shard_id <> all",
    to: "where false and process_id = renewed.id and shard_id <> all",
    suites: service
  },
  {
    id: "a process that leaves takes shards",
    file: statements,
    from: "select id from cluster_processes where id = ${id} and not leaving),",
    to: "select id from cluster_processes where id = ${id}),",
    suites: service
  },
  {
    id: "a process that joins leaves its predecessor's row",
    file: statements,
    from: "delete from cluster_processes where address = ${address}",
    to: "delete from cluster_processes where address = ${address} and false",
    suites: service
  },
  {
    id: "a frozen process keeps its shards while the database is silent",
    file: leasing,
    from: "return held.isLeased ? shards.filter((shard) => held.has(shard)) : []",
    to: "return shards",
    suites
  },
  {
    id: "a process gives its shards up as soon as the database is silent",
    file: leasing,
    from: "return held.isLeased ? shards.filter((shard) => held.has(shard)) : []",
    to: "return []",
    suites
  },
  {
    id: "the answer to the process of before is believed",
    file: leasing,
    from: "if (own() === mine) held.taken(taken)",
    to: "held.taken(taken)",
    suites
  },
  {
    id: "a released shard is still held here",
    file: "src/store/ProcessLeases.ts",
    from: "held.release(shard)\n",
    to: "\n",
    suites: service
  },
  {
    id: "a released shard stays taken",
    file: statements,
    from: "where process_id = ${id} and shard_id = ${shard}`",
    to: "where process_id = ${id} and shard_id = ${shard} and false`",
    suites: service
  }
]
