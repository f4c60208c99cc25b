/** A service as the manifests of `deploy/kubernetes/` confine it, in the words of docker compose. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"

const path = join(import.meta.dirname, "../../deploy/kubernetes/services.yaml")

/** `group`: may read the fleet's secret, as Kubernetes' `fsGroup` does. */
export const confinedService = (): { readonly group: number; readonly confinement: object } => {
  const pod = parseAllDocuments(readFileSync(path, "utf8"), { version: "1.1" })
    .map((document) => document.toJS())
    .find(({ kind }) => kind === "Deployment").spec.template.spec
  const [container] = pod.containers
  const { runAsUser, runAsGroup, fsGroup } = pod.securityContext
  const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext
  const emptied = new Set(
    pod.volumes.flatMap((it: { readonly name: string; readonly emptyDir?: object }) =>
      it.emptyDir === undefined ? [] : [it.name]
    )
  )
  return {
    group: fsGroup,
    confinement: {
      user: `${runAsUser}:${runAsGroup}`,
      group_add: [String(fsGroup)],
      read_only: readOnlyRootFilesystem,
      cap_drop: capabilities.drop,
      security_opt: [`no-new-privileges:${!allowPrivilegeEscalation}`],
      tmpfs: container.volumeMounts.flatMap((it: { readonly name: string; readonly mountPath: string }) =>
        emptied.has(it.name) ? [`${it.mountPath}:mode=0770,uid=0,gid=${fsGroup}`] : []
      )
    }
  }
}
