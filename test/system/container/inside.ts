/** What a Sandbox in the image has, what it can read about the container, and which addresses it reaches. */
import assert from "node:assert/strict"
import type { Api } from "./Api.ts"
import type { Composition } from "./Composition.ts"
import { execute } from "./mainPath.ts"

/** Common commands: the programs of a virtual machine, except those that need root or a privilege. */
const PROGRAMS =
  "awk bash bzip2 cat curl diff file find free g++ gcc git grep gzip jq less make nano nc node npm npx patch perl pip3 ps " +
  "python3 rsync scp sed sftp sqlite3 ssh tar tmux top unzip vi wget xz zip"

export const hasTools = async (api: Api, sandbox: string): Promise<void> => {
  const { stdout } = await execute(
    api,
    sandbox,
    `for it in ${PROGRAMS}; do command -v $it > /dev/null || echo $it; done`
  )
  assert.equal(stdout, "", "programs are missing")
  const used = await execute(
    api,
    sandbox,
    `set -e
     git init -q repository && git -C repository -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
     python3 -m venv venv && venv/bin/python -c 'print(6 * 7)'
     node -e 'console.log(6 * 7)'
     echo 'int main() { return 42; }' > a.c && gcc -o a a.c && { ./a || echo $?; }
     tar -cJf a.tar.xz a.c && ps -e -o comm= | grep -q ps
     rm -rf repository venv a a.c a.tar.xz`
  )
  assert.equal(used.stdout, "42\n42\n42\n", used.stderr)
}

/** Nothing of the container's: its secrets, its data, its sources, its processes. */
export const seesNothing = async (api: Api, composition: Composition, sandbox: string): Promise<void> => {
  const { stdout } = await execute(
    api,
    sandbox,
    "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; cat /etc/passwd /etc/hosts; ls -A / /opt /opt/atoll /var /run; ps -e -o args="
  )
  for (const secret of ["POSTGRES", "DATABASE_URL", "0123456789abcdef", "src/main", "start.sh", "docker"])
    assert.ok(!stdout.includes(secret), `a Sandbox sees ${secret}:\n${stdout}`)
  const closed = [
    "/opt/atoll/src",
    "/opt/atoll/node_modules",
    "/var/lib",
    "/var/run/docker.sock",
    "/.dockerenv",
    "/root"
  ]
  for (const path of closed)
    assert.notEqual((await execute(api, sandbox, `test -e ${path}`)).exitCode, 0, `a Sandbox sees ${path}`)
  assert.notEqual((await execute(api, sandbox, "touch /usr/mine")).exitCode, 0, "a Sandbox writes to /usr")
  const hostname = await composition.exec("atoll", "cat", "/etc/hostname")
  assert.notEqual((await execute(api, sandbox, "hostname")).stdout, hostname)
}

/** The limits that are reported as enforced are enforced, and programs can read them. */
export const isBounded = async (api: Api, sandbox: string): Promise<void> => {
  const { profile } = (await api.expect(200, "GET", `/v2/sandboxes/${sandbox}`)).json.sandbox
  const { stdout } = await execute(
    api,
    sandbox,
    `cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2> /dev/null; df --output=size -B1 . | tail -n 1`
  )
  const [memory, disk] = stdout.trim().split("\n").map(Number)
  assert.equal(memory, profile.memoryBytes)
  assert.ok(disk! > 0.9 * profile.diskBytes && disk! <= profile.diskBytes, `the volume has ${disk} bytes`)
  const greedy = await api.expect(200, "POST", `/v2/sandboxes/${sandbox}/execute`, {
    body: { argv: ["node", "-e", "const kept = []; while (true) kept.push(Buffer.alloc(2 ** 24, 1))"] }
  })
  assert.equal(greedy.json.result.reason?.code, "OUT_OF_MEMORY", greedy.text)
}

/** @param open An address of a container with a database that is like one of the Internet; null: there is no such network. */
export const reaches = async (
  api: Api,
  sandbox: string,
  addresses: { readonly closed: ReadonlyArray<string>; readonly open: string | null }
): Promise<void> => {
  const tried = async (host: string): Promise<boolean> => {
    const script = `timeout 10 bash -c '< /dev/tcp/${host}/5432' 2> /dev/null`
    return (await execute(api, sandbox, script)).exitCode === 0
  }
  const { stdout } = await execute(api, sandbox, "getent ahostsv4 atoll | head -n 1")
  assert.match(stdout, /^\d/, "names are not resolved in a Sandbox")
  for (const address of addresses.closed) assert.ok(!(await tried(address)), `a Sandbox reaches ${address}`)
  if (addresses.open !== null) assert.ok(await tried(addresses.open), `a Sandbox does not reach ${addresses.open}`)
}
