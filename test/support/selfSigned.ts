/** Certificates that a test signs itself. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export interface SelfSigned {
  readonly certFile: string
  readonly keyFile: string
  /** PEM. */
  readonly cert: string
  readonly key: string
}

/** @param names As in subjectAltName: `DNS:atoll.test`, `IP:127.0.0.1`. */
export const selfSigned = (folder: string, name: string, names: ReadonlyArray<string>): SelfSigned => {
  const certFile = join(folder, `${name}.crt`)
  const keyFile = join(folder, `${name}.key`)
  const of = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${names.join(",")}`, "-days", "2"]
  const how = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
  execFileSync("openssl", [...how, ...of, "-keyout", keyFile, "-out", certFile], { stdio: "ignore" })
  return { certFile, keyFile, cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") }
}
