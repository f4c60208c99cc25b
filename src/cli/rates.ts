/** `atoll rates set|list` */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { setRates } from "../console/server/operating/moneyActs.ts"
import { cardDocument, hourlyCost } from "../console/server/operating/rates.ts"
import { shownTime } from "../console/server/operating/times.ts"
import { Ledger } from "../wallet/Ledger.ts"
import type { RateCard } from "../wallet/RateCard.ts"
import { answer } from "./answer.ts"
import { table } from "./table.ts"

const shownCards = (cards: ReadonlyArray<RateCard>) =>
  Effect.map(hourlyCost, ({ running, stopped }) =>
    table(
      [
        "FROM",
        "VCPU-SECOND",
        "MEMORY-GIB-SECOND",
        "VOLUME-GIB-SECOND",
        "SNAPSHOT-GIB-SECOND",
        "A RUNNING SANDBOX AN HOUR",
        "A STOPPED ONE"
      ],
      cards.map((card) => [
        card.effectiveAt === 0 ? "the beginning" : shownTime(card.effectiveAt),
        `${card.vcpuSecondNanoUsd} nano-USD`,
        `${card.memoryGibSecondNanoUsd} nano-USD`,
        `${card.volumeGibSecondNanoUsd} nano-USD`,
        `${card.snapshotGibSecondNanoUsd} nano-USD`,
        `${running(card)} USD`,
        `${stopped(card)} USD`
      ])
    )
  )

const rateFlag = (name: string, what: string) =>
  Flag.String(name).pipe(Flag.withDescription(`Whole nano-dollars for a second of ${what}`))

const set = Command.make(
  "set",
  {
    vcpu: rateFlag("vcpu-second", "one vCPU"),
    memory: rateFlag("memory-gib-second", "one GiB of memory"),
    volume: rateFlag("volume-gib-second", "one GiB of volume"),
    snapshot: Flag.optional(rateFlag("snapshot-gib-second", "one GiB that a snapshot stores. Absent: as of volume")),
    effectiveAt: Flag.String("effective-at").pipe(
      Flag.withDescription("When they take effect: 2027-01-31T12:00:00Z. Absent: now"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ vcpu, memory, volume, snapshot, effectiveAt }) {
    const card = yield* setRates({
      vcpuSecond: vcpu,
      memoryGibSecond: memory,
      volumeGibSecond: volume,
      snapshotGibSecond: Option.getOrNull(snapshot),
      effectiveAt: Option.getOrNull(effectiveAt)
    })
    yield* answer(yield* shownCards([card]), { rates: cardDocument(card) })
  })
).pipe(
  Command.withDescription(
    "Set the prices of a second from an instant on. Earlier usage keeps its price; a card never changes"
  )
)

const list = Command.make(
  "list",
  {},
  Effect.fnUntraced(function* () {
    const cards = yield* (yield* Ledger).rates
    yield* answer(yield* shownCards(cards), { rates: cards.map(cardDocument) })
  })
).pipe(Command.withDescription("List the rates by time, with the hourly cost of a Sandbox of the settings' size"))

export const rates = Command.make("rates").pipe(
  Command.withDescription("Set and list the prices of a second of a Sandbox"),
  Command.withSubcommands([set, list])
)
