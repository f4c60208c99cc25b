/**
 * Sizes with tenths of a vCPU, which may change: meters count thousandths of a vCPU, and each segment has the sizes that it was charged for.
 *
 * Sums and rates of vCPUs grow by the factor 1000 with their unit. The column has another name, so that a process of an older version fails instead
 * of charging in the older unit.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table segments add column milli_vcpus integer, add column memory_bytes bigint, add column volume_bytes bigint`
  yield* sql`
    update segments s set vcpu_sum = s.vcpu_sum * 1000, vcpu_rate = s.vcpu_rate * 1000, milli_vcpus = m.vcpus * 1000,
      memory_bytes = m.memory_bytes, volume_bytes = m.volume_bytes
    from meters m where m.sandbox_id = s.sandbox_id`
  yield* sql`
    alter table segments alter column milli_vcpus set not null, alter column memory_bytes set not null, alter column volume_bytes set not null`
  yield* sql`alter table meters rename column vcpus to milli_vcpus`
  yield* sql`update meters set milli_vcpus = milli_vcpus * 1000, vcpu_sum = vcpu_sum * 1000`
})
