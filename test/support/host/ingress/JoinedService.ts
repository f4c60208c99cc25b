/** The service's end of joining, with the answers that a test sets; it keeps the requests. */
import type { TLSSocket } from "node:tls"
import { Effect } from "effect"
import { peerRpcServer } from "../../../../src/peer/PeerRpc.ts"
import type { PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import type { HostDescription } from "../../../../src/runtime/distant/HostDescription.ts"
import { HostUnknown, type JoinRefused, JoinRpcs } from "../../../../src/runtime/distant/JoinRpcs.ts"
import { loopback } from "../../peer/TestPeers.ts"

export interface Beat {
  readonly hostId: string
  readonly boot: string
  readonly capacity: HostDescription["capacity"]
  readonly networkRefused: string | null
}

export class JoinedService {
  readonly joined: Array<HostDescription> = []
  readonly keys: Array<string> = []
  readonly beats: Array<Beat> = []
  readonly left: Array<{ readonly hostId: string; readonly boot: string }> = []
  readonly sockets: Array<TLSSocket> = []
  port = 0
  /** Null: it is accepted. */
  refusal: JoinRefused | null = null
  /** Whether it knows the beating host. */
  knows = true
  /** Whether it answers beats at all. */
  isFrozen = false

  installation: string

  constructor(installation: string) {
    this.installation = installation
  }

  listen(peers: PeerSockets["Service"], port = 0) {
    const service = this
    const handlers = JoinRpcs.toLayer({
      Join: ({ key, ...description }) =>
        Effect.suspend(() => {
          if (service.refusal !== null) return Effect.fail(service.refusal)
          service.joined.push(description)
          service.keys.push(key)
          service.knows = true
          return Effect.succeed({ installation: service.installation, beatEveryMs: 300 })
        }),
      Beat: (beat) =>
        Effect.suspend(() => {
          if (service.isFrozen) return Effect.never
          if (!service.knows) return Effect.fail(new HostUnknown())
          service.beats.push(beat)
          return Effect.void
        }),
      Leave: (it) => Effect.sync(() => void service.left.push(it))
    })
    return Effect.gen(function* () {
      const door = yield* Effect.provide(peerRpcServer(JoinRpcs), handlers)
      const taken = yield* peers.listen(
        { host: loopback, port },
        {
          "atoll-join/1": (socket) => {
            service.sockets.push(socket)
            door(socket)
          }
        }
      )
      service.port = taken.port
    })
  }
}
