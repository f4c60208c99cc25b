/** Checks what a process needs so that the others of its fleet accept it. */
import { accessSync, constants } from "node:fs"
import type { SettingsShape } from "../../Config.ts"
import { type Finding, fine, missing } from "./Finding.ts"

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

type FleetSettings = Pick<
  SettingsShape,
  "role" | "fleetSecretFile" | "fleetCertFile" | "fleetKeyFile" | "fleetCaFile" | "fleetRevokedFile" | "fleetJoin"
>

export const fleetFindings = (settings: FleetSettings): ReadonlyArray<Finding> => {
  const { role, fleetSecretFile, fleetCertFile, fleetKeyFile, fleetCaFile, fleetRevokedFile, fleetJoin } = settings
  if (role === "all") return []
  const files = {
    ATOLL_FLEET_SECRET_FILE: fleetSecretFile,
    ATOLL_FLEET_CERT_FILE: fleetCertFile,
    ATOLL_FLEET_KEY_FILE: fleetKeyFile,
    ATOLL_FLEET_CA_FILE: fleetCaFile
  }
  const named = Object.entries(files).flatMap(([name, path]) => (path === null ? [] : [[name, path] as const]))
  const revoked = fleetRevokedFile === null ? [] : [["ATOLL_FLEET_REVOKED_FILE", fleetRevokedFile] as const]
  const closed = [...named, ...revoked].filter(([, path]) => !isReadable(path)).map(([name]) => name)
  const proof =
    named.length === 0
      ? missing(
          "fleet",
          "Nothing proves to the fleet's other processes who this is.",
          "openssl rand -hex 32 > secret; chmod 600 secret; set ATOLL_FLEET_SECRET_FILE to it, the same on every service and host."
        )
      : closed.length > 0
        ? missing("fleet", `${closed.join(", ")} cannot be read.`, "Correct the path, or the file's permissions.")
        : fine("fleet", `This process proves itself by ${named.map(([name]) => name).join(", ")}.`)
  if (role !== "host" || fleetJoin.length > 0) return [proof]
  return [
    proof,
    missing("services", "The addresses of this host's services are not set.", "ATOLL_FLEET_JOIN=name:port,name:port")
  ]
}
