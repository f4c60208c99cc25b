/** `atoll tunnel CAPABILITY PORT [--listen PORT] [--url URL]` */
import { hash } from "node:crypto"
import { hostname, userInfo } from "node:os"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { tunnelRefusal, tunnelServer } from "../access/serviceAccess/tunnelClient.ts"
import { Refused } from "../console/server/operating/refusals.ts"
import { answer, Json } from "./answer.ts"

const Port = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 65_535 }))

/** All tunnels of one user on one machine are one client of an access, so that they do not cut each other. */
const thisUser = (): string => {
  const { username, uid } = userInfo()
  return hash("sha256", `${hostname()} ${uid} ${username}`, "hex").slice(0, 32)
}

/** The local port is not available. */
class NotListening extends Schema.TaggedError<NotListening>()("NotListening", { message: Schema.String }) {}

export const tunnel = Command.make(
  "tunnel",
  {
    capability: Argument.String("capability").pipe(Argument.withDescription("The capability from POST …/services")),
    port: Argument.Int("port").pipe(Argument.withDescription("The port inside the Sandbox"), Argument.withSchema(Port)),
    listen: Flag.Int("listen").pipe(
      Flag.withDescription("The local port. Absent: the same number"),
      Flag.withSchema(Port),
      Flag.optional
    ),
    url: Flag.String("url").pipe(
      Flag.withDescription("The address of Atoll"),
      Flag.withDefault(process.env["ATOLL_URL"] ?? `http://127.0.0.1:${process.env["ATOLL_PORT"] ?? 8080}`)
    )
  },
  Effect.fnUntraced(function* ({ capability, port, listen, url }) {
    const local = Option.getOrElse(listen, () => port)
    const options = {
      url,
      capability,
      port,
      client: thisUser(),
      onRefused: (sentence: string) => void process.stderr.write(`atoll: ${sentence}\n`)
    }
    const refusal = yield* Effect.promise(() => tunnelRefusal(options))
    if (refusal !== null) {
      const { sentence, documentation } = refusal
      const more = documentation === null || (yield* Json) ? "" : `\nMore: ${documentation}`
      return yield* new Refused({ message: sentence + more })
    }
    const server = tunnelServer(options)
    yield* Effect.callback<void, NotListening>((resume) => {
      server.once("error", (error) => resume(new NotListening({ message: `Cannot listen: ${error.message}` })))
      server.listen(local, "127.0.0.1", () => resume(Effect.void))
    })
    yield* answer(`127.0.0.1:${local} is port ${port} of the Sandbox, until Ctrl-C.`, {
      listens: { host: "127.0.0.1", port: local },
      port
    })
    yield* Effect.never
  })
).pipe(Command.withDescription("Bridge a local TCP port to a port of a Sandbox"))
