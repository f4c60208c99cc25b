/** A service confined as in the manifests of `deploy/kubernetes/`, in the terms of docker compose. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"

const path = join(import.meta.dirname, "../../../deploy/kubernetes/services.yaml")

/**
 * @param emptyAt A new folder for the mount of this name, which the group may write.
 * @returns `group`: may read the fleet's secret; both as Kubernetes' `fsGroup` does.
 */
export const confinedService = async (
  emptyAt: (name: string, group: number) => Promise<string>
): Promise<{ readonly group: number; readonly confinement: object }> => {
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
      volumes: await Promise.all(
        container.volumeMounts
          .filter(({ name }: { readonly name: string }) => emptied.has(name))
          .map(
            async ({ name, mountPath }: { readonly name: string; readonly mountPath: string }) =>
              `${await emptyAt(name, fsGroup)}:${mountPath}`
          )
      )
    }
  }
}
