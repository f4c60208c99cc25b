/** Serves the API on an HttpServer. */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Accounts } from "../../account/Accounts.ts"
import { ApiKeys } from "../../account/ApiKeys.ts"
import { BootstrapKey } from "../../account/BootstrapKey.ts"
import { Workspaces } from "../../account/workspace/Workspaces.ts"
import { Attempts } from "../../console/server/Attempts.ts"
import { Invitations } from "../../console/server/Invitations.ts"
import { OperatorSessions } from "../../console/server/OperatorSessions.ts"
import { Passphrases } from "../../console/server/Passphrases.ts"
import { Registration } from "../../console/server/Registration.ts"
import { SignIn } from "../../console/server/SignIn.ts"
import { SignInLinks } from "../../console/server/SignInLinks.ts"
import { Hosts } from "../../fleet/Hosts.ts"
import { ApiRoutes, routerConfig } from "./ApiRoutes.ts"
import { Callers } from "./Callers.ts"
import { withoutServices } from "./LeanContext.ts"

const accounts = Layer.mergeAll(Accounts.layer, ApiKeys.layer, Workspaces.layer)

const people = Layer.mergeAll(Registration.layer, SignIn.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Attempts.layer, Invitations.layer, Passphrases.layer, SignInLinks.layer))
)

const operator = Layer.merge(OperatorSessions.layer, Hosts.layer)

const router = HttpRouter.layer.pipe(Layer.provide(Layer.succeed(HttpRouter.RouterConfig, routerConfig)))

/** HttpRouter.serve with a small context for the requests. */
const serving = Layer.effectDiscard(
  Effect.gen(function* () {
    const app = (yield* HttpRouter.HttpRouter).asHttpEffect()
    const server = yield* HttpServer.HttpServer
    yield* withoutServices(server.serve(app as Effect.Effect<never>))
  })
)

export const ApiServer = {
  /** Needs Settings, SqlClient, Audit, Ledger, Sandboxes, Operations and an HttpServer. */
  layer: serving.pipe(
    Layer.provide(ApiRoutes.layer),
    Layer.provide(router),
    Layer.provide(BootstrapKey.layer),
    Layer.provide(people),
    Layer.provide(operator),
    Layer.provide(accounts),
    Layer.provide(Callers.layer)
  )
}
