/** An authority that signs certificates, and certificates that it has signed, as an operator makes them. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"

const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { stdio: "ignore" })

export interface Signed {
  readonly certFile: string
  readonly keyFile: string
}

export interface Authority {
  /** Its own certificate. */
  readonly caFile: string
  /** @param names As in subjectAltName: `DNS:atoll-host`. `isExpired`: since yesterday. */
  readonly sign: (name: string, names: string, isExpired?: boolean) => Signed
}

/** Its files are in `folder`, named after `name`. */
export const authority = (folder: string, name: string): Authority => {
  const caFile = join(folder, `${name}.crt`)
  const caKeyFile = join(folder, `${name}.key`)
  openssl("req", "-x509", ...key, "-subj", `/CN=${name}`, "-days", "2", "-keyout", caKeyFile, "-out", caFile)
  return {
    caFile,
    sign: (of, names, isExpired = false) => {
      const certFile = join(folder, `${name}-${of}.crt`)
      const keyFile = join(folder, `${name}-${of}.key`)
      const request = join(folder, `${name}-${of}.csr`)
      openssl(
        "req",
        ...key,
        "-subj",
        `/CN=${of}`,
        "-addext",
        `subjectAltName=${names}`,
        "-keyout",
        keyFile,
        "-out",
        request
      )
      const signing = ["-CA", caFile, "-CAkey", caKeyFile, "-CAcreateserial", "-copy_extensions", "copy"]
      openssl("x509", "-req", "-in", request, ...signing, "-days", isExpired ? "-1" : "2", "-out", certFile)
      return { certFile, keyFile }
    }
  }
}
