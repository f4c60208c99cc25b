/**
 * `deploy/kubernetes/` as Kubernetes reads it. Each manifest has the fields of its kind and no other, by the types
 * generated from Kubernetes' published OpenAPI description (1.30). Each name of a manifest, of the image or of a
 * setting that the manifests use exists.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { parse, parseAllDocuments } from "yaml"
import { settings } from "../../../src/Config.ts"
import { FORBIDDEN_RANGES } from "../../../src/host/linux/forbiddenRanges.ts"

const root = join(import.meta.dirname, "../../..")
const folder = join(root, "deploy/kubernetes")

// biome-ignore lint/suspicious/noExplicitAny: the types are held to it by the compiler, below
type Manifest = any

const kustomization = parse(readFileSync(join(folder, "kustomization.yaml"), "utf8"))

const manifests: ReadonlyArray<Manifest> = kustomization.resources.flatMap((name: string) =>
  // Kubernetes reads 0440 as octal in YAML; where the two readings differ, a manifest uses another spelling.
  parseAllDocuments(readFileSync(join(folder, name), "utf8"), { version: "1.1" }).map((document) => {
    assert.deepStrictEqual(document.errors, [])
    return document.toJS()
  })
)

const find = (kind: string, name: string): Manifest => {
  const found = manifests.find((it) => it.kind === kind && it.metadata.name === name)
  assert.isDefined(found, `there is no ${kind} ${name}`)
  return found
}

const service = find("Deployment", "atoll-service")
const host = find("DaemonSet", "atoll-host")
const pods: ReadonlyArray<Manifest> = [service.spec.template, host.spec.template]

const modules: Readonly<Record<string, string>> = {
  v1: "core/v1",
  "apps/v1": "apps/v1",
  "networking.k8s.io/v1": "networking/v1",
  "policy/v1": "policy/v1"
}

const typed = (manifest: Manifest, index: number): string =>
  `export const it${index}: Required<Pick<import("${root}/node_modules/kubernetes-types/${modules[manifest.apiVersion]}").${manifest.kind}, "apiVersion" | "kind">> & import("${root}/node_modules/kubernetes-types/${modules[manifest.apiVersion]}").${manifest.kind} = ${JSON.stringify(manifest)}\n`

const scratch = mkdtempSync(join(tmpdir(), "atoll-kubernetes-"))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** The compiler's faults, one a line. */
const faults = async (name: string, all: ReadonlyArray<Manifest>): Promise<ReadonlyArray<string>> => {
  const path = join(scratch, `${name}.ts`)
  writeFileSync(path, all.map(typed).join(""))
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--module", "esnext", "--moduleResolution", "bundler"]
  const args = [...options, "--target", "esnext", "--types", "", "--pretty", "false", path]
  const told = await promisify(execFile)(join(root, "node_modules/.bin/tsc"), args).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`
  )
  return told.split("\n").filter((line) => line.trim() !== "")
}

const labelsMatch = (selector: Record<string, string>, labels: Record<string, string>): boolean =>
  Object.entries(selector).every(([name, value]) => labels[name] === value)

const portsOf = (pod: Manifest): ReadonlyArray<string> =>
  pod.spec.containers[0].ports.map((it: { readonly name: string }) => it.name)

describe("the Kubernetes manifests", () => {
  it("have the fields of their kinds, and no other", async () => {
    assert.deepStrictEqual(await faults("manifests", manifests), [])
  })

  it("are refused with a misspelt, ill-typed or missing field", async () => {
    const misspelt = structuredClone(service)
    misspelt.spec.template.spec.containers[0].readinessProb = {}
    const ofAnotherType = structuredClone(host)
    ofAnotherType.spec.template.spec.terminationGracePeriodSeconds = "45"
    const missing = structuredClone(service)
    delete missing.spec.selector
    const told = (await faults("wrong", [misspelt, ofAnotherType, missing])).join("\n")
    assert.match(told, /'"readinessProb"' does not exist|'readinessProb' does not exist/)
    assert.match(told, /Type 'string' is not assignable to type 'number'/)
    assert.match(told, /Property 'selector' is missing/)
  })

  it("are all named by the kustomization, in its namespace, each once", () => {
    const files = readdirSync(folder).filter((it) => it !== "kustomization.yaml")
    assert.deepStrictEqual([...kustomization.resources].sort(), files.sort())
    const namespace = find("Namespace", kustomization.namespace).metadata.name
    for (const it of manifests) {
      if (it.kind !== "Namespace") assert.strictEqual(it.metadata.namespace, namespace, it.metadata.name)
    }
    const names = manifests.map((it) => `${it.kind} ${it.metadata.name}`)
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("select existing pods, by ports that these have", () => {
    for (const { spec } of [service, host])
      assert.isTrue(labelsMatch(spec.selector.matchLabels, spec.template.metadata.labels))
    const chosenBy = (selector: Record<string, string>): Manifest => {
      const chosen = pods.filter((pod) => labelsMatch(selector, pod.metadata.labels))
      assert.strictEqual(chosen.length, 1, JSON.stringify(selector))
      return chosen[0]
    }
    for (const it of manifests) {
      if (it.kind === "Service") {
        const names = portsOf(chosenBy(it.spec.selector))
        for (const { targetPort } of it.spec.ports) assert.include(names, targetPort)
      }
      if (it.kind === "PodDisruptionBudget") assert.strictEqual(chosenBy(it.spec.selector.matchLabels), pods[0])
      if (it.kind === "NetworkPolicy") {
        const own = portsOf(chosenBy(it.spec.podSelector.matchLabels))
        for (const { ports } of it.spec.ingress) for (const { port } of ports) assert.include(own, port)
        for (const { to, ports = [] } of it.spec.egress ?? []) {
          const others = to.flatMap(({ podSelector }: Manifest) =>
            podSelector === undefined ? [] : portsOf(chosenBy(podSelector.matchLabels))
          )
          for (const { port } of ports) if (typeof port === "string") assert.include(others, port)
        }
      }
    }
    for (const pod of pods) {
      const [container] = pod.spec.containers
      for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
        const { httpGet, tcpSocket } = container[probe]
        assert.include(portsOf(pod), (httpGet ?? tcpSocket).port)
      }
    }
  })

  it("let only the fleet reach its ports", () => {
    for (const name of ["atoll-service", "atoll-host"]) {
      for (const { from, ports } of find("NetworkPolicy", name).spec.ingress) {
        const inner = ports.some(({ port }: Manifest) => port === "fleet" || port === "cluster")
        if (!inner) continue
        assert.isNotEmpty(from)
        for (const peer of from) assert.isDefined(peer.podSelector)
      }
    }
    // No other ingress rule leads to a host.
    assert.deepStrictEqual(
      find("NetworkPolicy", "atoll-host").spec.ingress.flatMap(({ ports }: Manifest) =>
        ports.map((it: Manifest) => it.port)
      ),
      ["fleet"]
    )
  })

  it("give each process existing settings, its role's secrets, and the ports that it listens on", () => {
    const known = new Set<string>(Object.values(settings).map(({ env }) => env))
    for (const pod of pods) {
      const [container] = pod.spec.containers
      const values = new Map<string, string>(container.env.map((it: Manifest) => [it.name, it.value]))
      for (const { configMapRef } of container.envFrom) {
        for (const [name, value] of Object.entries(
          find("ConfigMap", configMapRef.name).data as Record<string, string>
        )) {
          assert.isFalse(values.has(name), `${name} is said twice`)
          values.set(name, value)
        }
      }
      for (const name of values.keys()) assert.isTrue(known.has(name), `there is no setting ${name}`)
      for (const { valueFrom } of container.env) {
        if (valueFrom?.secretKeyRef === undefined) continue
        const { name, key } = valueFrom.secretKeyRef
        assert.property(find("Secret", name).stringData, key)
      }
      const port = new Map(container.ports.map((it: Manifest) => [it.name, String(it.containerPort)]))
      assert.strictEqual(values.get("ATOLL_PORT"), port.get("http"))
      assert.strictEqual(values.get("ATOLL_FLEET_PORT"), port.get("fleet"))
      assert.strictEqual(values.get("ATOLL_CLUSTER_PORT"), port.get("cluster"))
      const volume = pod.spec.volumes.find((it: Manifest) => it.secret !== undefined)
      const mount = container.volumeMounts.find((it: Manifest) => it.name === volume.name)
      const [key] = Object.keys(find("Secret", volume.secret.secretName).stringData)
      assert.strictEqual(values.get("ATOLL_FLEET_SECRET_FILE"), `${mount.mountPath}/${key}`)
      // A process refuses it if others can read it.
      assert.strictEqual(volume.secret.defaultMode & 0o007, 0)
      assert.include(
        container.volumeMounts.map((it: Manifest) => it.mountPath),
        "/var/lib/atoll"
      )
    }
    const hasDatabase = pods.map((pod) => pod.spec.containers[0].env.some((it: Manifest) => it.name === "DATABASE_URL"))
    assert.deepStrictEqual(hasDatabase, [true, false])
  })

  it("forbid a host's Sandboxes the ranges that Atoll itself forbids", () => {
    const blocks = find("NetworkPolicy", "atoll-host").spec.egress.flatMap(({ to }: Manifest) =>
      to.flatMap((it: Manifest) => it.ipBlock ?? [])
    )
    assert.deepStrictEqual(blocks, [{ cidr: "0.0.0.0/0", except: [...FORBIDDEN_RANGES] }])
  })

  it("give a stop as much time as it may take", () => {
    const stopWithinMs = Number(
      /const stopWithinMs = ([\d_]+)/.exec(readFileSync(join(root, "src/app/Launch.ts"), "utf8"))![1]!.replace("_", "")
    )
    for (const pod of pods) {
      const [container] = pod.spec.containers
      const before = Number(container.lifecycle?.preStop.exec.command[1] ?? 0)
      assert.isAbove(pod.spec.terminationGracePeriodSeconds, before + stopWithinMs / 1000)
    }
  })
})
