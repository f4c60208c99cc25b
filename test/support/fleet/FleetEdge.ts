/**
 * A fleet of two services and two hosts in place of the one service that a suite needs: `npm run test:fleet` sets
 * ATOLL_TEST_FLEET. Each connection goes to the other service than the one before it.
 */
import { Effect, type Layer } from "effect"
import { listenTo } from "../serviceLog.ts"
import { balancer } from "./Balancer.ts"
import { Fleet, type FleetShape } from "./Fleet.ts"
import { isOverAFleet } from "./isOverAFleet.ts"

/** Suites keep their Sandboxes to the end. */
const roomy = { ATOLL_HOST_VCPUS: "200" }
const sshSetting = "ATOLL_SSH_PORT"

/** The fleet or the process that a suite runs over. */
export const overAFleetOr = <A, E1, R1, E2, R2>(
  fleet: () => Layer.Layer<A, E1, R1>,
  inProcess: () => Layer.Layer<A, E2, R2>
): Layer.Layer<A, E1 | E2, R1 | R2> => (isOverAFleet ? fleet() : inProcess())

/**
 * Real Sandboxes, in namespaces unless ATOLL_RUNTIME says `qemu`. It gives the port of both services, and that of one
 * of them; the client address that services see; a function that crashes a Sandbox; and the metrics of each service. At
 * its end the services stop in order, before any connection to them is cut.
 */
export const fleetEdge = Effect.fnUntraced(function* ({
  environment,
  key,
  addresses = []
}: Pick<FleetShape, "environment" | "key"> & Partial<FleetShape>) {
  const both = yield* balancer
  const second = yield* balancer
  // A service publishes the ports that it listens on, so both use the same ones, and the balancers lead to them.
  const ssh = sshSetting in environment ? yield* balancer : null
  const fleet = yield* Fleet.make({
    driver: environment["ATOLL_RUNTIME"] === "qemu" ? "qemu" : "namespace",
    environment: {
      ...roomy,
      ...environment,
      ...(ssh === null ? {} : { [sshSetting]: String(ssh.port), ATOLL_SSH_HOST: "0.0.0.0" })
    },
    port: both.port,
    key,
    addresses
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(fleet.services.map((service) => service.stop()))))
  for (const service of fleet.services) listenTo(service)
  const listeners = fleet.services.map(({ host, host6, port }) => ({ host, host6, port }))
  both.lead(listeners)
  second.lead(listeners.slice(1))
  ssh?.lead(listeners.map(({ host }) => ({ host, port: ssh.port })))
  return {
    port: both.port,
    second: { port: second.port },
    listeners,
    sourceIp: fleet.net.address,
    crash: (sandboxId: string) => fleet.hosts.forEach((host) => host.crash(sandboxId)),
    agentOf: (sandboxId: string) => fleet.hosts.flatMap((host) => host.agentsOf(sandboxId))[0]!,
    freezeHosts: (areFrozen: boolean) => {
      for (const host of fleet.hosts) areFrozen ? host.freeze() : host.thaw()
    },
    killHosts: async () => void (await Promise.all(fleet.hosts.map((host) => host.kill()))),
    residentBytes: () => [...fleet.services, ...fleet.hosts].reduce((sum, one) => sum + one.residentBytes, 0),
    origins: fleet.services.map(({ origin }) => origin),
    scrapes: () => Promise.all(fleet.services.map(async ({ origin }) => (await fetch(`${origin}/metrics`)).text()))
  }
})
