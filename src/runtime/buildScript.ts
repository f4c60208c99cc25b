/**
 * The command that builds a Dockerfile in a `builder` Sandbox: one operation, whose exit code and output are those of the build.
 *
 * All that a client gives is a separate argument or a file. No part of it is read by a shell.
 *
 * @source buildah-build(1), buildah-push(1) 1.28 and 1.39; containers-registries.conf(5), containers-auth.json(5)
 */

/** Where the text of a Dockerfile that is not in the context is put before. The command takes it away, so that it does not belong to the context. */
export const buildDockerfilePath = "/workspace/.atoll-dockerfile"

/** The built image, an OCI layout in a tar. Exists once the command has ended with 0. */
export const buildOutputPath = "/workspace/.atoll-image.tar"

/** The name of the command, by which the simulated runtime knows it. */
const name = "atoll-build"

const authVariable = "ATOLL_BUILD_AUTH"

export interface BuildCommand {
  /** Relative to the context; null: its text is in `buildDockerfilePath`. */
  readonly dockerfile: string | null
  /** An absolute path. */
  readonly context: string
  /** The last stage to build; null: the last of the Dockerfile. */
  readonly target: string | null
  readonly buildArgs: Readonly<Record<string, string>>
  readonly credentials: { readonly registry: string; readonly username: string; readonly password: string } | null
}

/** Of a step's root: those that Docker gives to one, without NET_RAW, MKNOD and AUDIT_WRITE, which no Sandbox has. */
const capabilities = [
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP"
]
  .concat("SETUID", "SYS_CHROOT")
  .map((it) => `"${it}"`)
  .join(", ")

/** In a Sandbox of namespaces a builder's commands are root already; in a virtual machine any command may become it. Arguments: the program, its name, and its arguments. */
const asRoot = `[ "$(id -u)" -ne 0 ] || exec /bin/sh -c "$@"
exec sudo -n --preserve-env=${authVariable} -- /bin/sh -c "$@"`

/**
 * Arguments: the context, the Dockerfile, the target, and the build arguments. buildah 1.39 begins no container without a program for networks, which it
 * never starts: steps have the Sandbox's network. Where nothing may mount an overlay, each layer of a base image is a whole copy of its files.
 */
const program = `context=$1 file=$2 target=$3
shift 3
work=/tmp/${name}
rm -rf -- "$work" ${buildOutputPath}
mkdir -m 700 "$work" && mkdir "$work/bin" "$work/tmp" "$work/run" "$work/store" || exit 125
if [ -z "$file" ]; then
  file=/tmp/${name}.dockerfile
  [ ! -e ${buildDockerfilePath} ] || mv -f -- ${buildDockerfilePath} "$file" || exit 125
else
  file=$context/$file
fi
umask 077
printf '{"default":[{"type":"insecureAcceptAnything"}]}' > "$work/policy.json"
printf 'unqualified-search-registries = ["docker.io"]\\nshort-name-mode = "disabled"\\n' > "$work/registries.conf"
printf '#!/bin/sh\\nexit 1\\n' > "$work/bin/netavark"
chmod 755 "$work/bin/netavark"
printf '[containers]\\ndefault_capabilities = [${capabilities}]\\n[engine]\\nhelper_binaries_dir = ["%s"]\\n' "$work/bin" > "$work/containers.conf"
driver=vfs
mkdir "$work/try" && (
  cd "$work/try" && mkdir low up own all &&
    mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=own all && umount all
) 2> /dev/null && driver=overlay
rm -rf "$work/try"
printf '[storage]\\ndriver = "%s"\\n' "$driver" > "$work/storage.conf"
printf '%s' "\${${authVariable}-}" > "$work/auth.json"
[ -s "$work/auth.json" ] || printf '{}' > "$work/auth.json"
unset ${authVariable}
umask 022
export HOME="$work" TMPDIR="$work/tmp" XDG_RUNTIME_DIR="$work/run" BUILDAH_ISOLATION=chroot _CONTAINERS_USERNS_CONFIGURED=done
export CONTAINERS_REGISTRIES_CONF="$work/registries.conf" CONTAINERS_CONF="$work/containers.conf" CONTAINERS_STORAGE_CONF="$work/storage.conf"
for it in "$@"; do
  shift
  set -- "$@" "--build-arg=$it"
done
[ -z "$target" ] || set -- "$@" "--target=$target"
stored() { buildah --storage-driver "$driver" --root "$work/store" --runroot "$work/run" "$@"; }
cd "$work"
stored bud --isolation chroot --format oci --signature-policy "$work/policy.json" --authfile "$work/auth.json" \\
  --tag localhost/${name}:latest --file "$file" "$@" -- "$context" || exit
stored push --signature-policy "$work/policy.json" localhost/${name}:latest oci-archive:${buildOutputPath} || exit
chmod 644 ${buildOutputPath}`

/** The form of `auth.json`. */
const authOf = ({ registry, username, password }: NonNullable<BuildCommand["credentials"]>): string =>
  JSON.stringify({ auths: { [registry]: { auth: Buffer.from(`${username}:${password}`).toString("base64") } } })

/** `env` has a secret if there are credentials. The working directory may be any. */
export const buildCommand = (build: BuildCommand) => ({
  argv: [
    ...["/bin/sh", "-c", asRoot, name, program, name],
    ...[build.context, build.dockerfile ?? "", build.target ?? ""],
    ...Object.entries(build.buildArgs).map(([key, value]) => `${key}=${value}`)
  ],
  env: (build.credentials === null ? {} : { [authVariable]: authOf(build.credentials) }) as Readonly<
    Record<string, string>
  >
})

/** The arguments of the command of a build; null: it is another command. */
export const buildArguments = (argv: ReadonlyArray<string>): ReadonlyArray<string> | null =>
  argv[4] === program && argv[5] === name ? argv.slice(6) : null
