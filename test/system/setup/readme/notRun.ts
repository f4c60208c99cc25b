/** What the README shows and its test does not type, each with the reason. */
import type { Shown } from "./shown.ts"

interface NotRun {
  /** Of the command, from its first character on. */
  readonly command: RegExp
  readonly why: string
}

const development =
  "It is what runs this test, or takes minutes, or changes files of this folder; CI and developers run it."

export const notRun: ReadonlyArray<NotRun> = [
  { command: /^sysctl -w /, why: "It changes the kernel of the machine that tests." },
  { command: /^modprobe tun$/, why: "It changes the kernel of the machine that tests." },
  { command: /^apt-get (?:install|remove) /, why: "It changes the machine that tests." },
  { command: /^rm -rf \/var\/cache\/atoll$/, why: "It takes the images of all Atolls of the machine that tests." },
  {
    command: /^sudo apt-get update && /,
    why: "It is typed inside a virtual machine, and takes it minutes under emulation."
  },
  { command: /^npm install$/, why: "It is typed inside a Sandbox, and needs the registry." },
  {
    command: /^docker compose /,
    why: "It needs a container engine: npm run test:container."
  },
  { command: /^tar c -C app \. \| curl /, why: "It builds: test/system/image has its own." },
  { command: /^curl .*\/build\/output/, why: "It reads what a build wrote, and none was typed." },
  { command: /^docker save$/, why: "It names what writes a file, and needs Docker." },
  { command: /^git pull$/, why: "It changes what is tested; upgrade.test.ts starts two versions one after the other." },
  {
    command: /^npm ci --ignore-scripts$/,
    why: "It takes the packages away that run the test; packages.test.ts has its own."
  },
  { command: /^npm run vm:image$/, why: "It builds for minutes; test/system/host/qemu boots what it builds." },
  {
    command: /^ATOLL_HOST=0\.0\.0\.0 ATOLL_PORT=443 /,
    why: "It wants port 443 and a certificate: test/service/api/http/tls.test.ts has its own."
  },
  {
    command: /^ATOLL_PORT=8081 npm run up$/,
    why: "It is npm run up with another port; the test runs npm run up, and gives every start a separate port."
  },
  {
    command: /^node examples\/lease\/prove\.ts /,
    why: "It takes a minute; test/system/examples/ sweeps one scenario, and runs the example itself."
  },
  { command: /^npm run --silent atoll --(?: …)?$/, why: "It is how others begin." },
  {
    command:
      /^(?:BENCH_FOLDER=FOLDER )?npm run (?:check|docs|words|shots|machines|histories|explore|mutants|prove|clients|release|pack|bench|test:\w+)\b/,
    why: development
  },
  { command: /^(?:ATOLL_RECORD_HISTORIES=FOLDER )?npm test\b/, why: development },
  { command: /^npx node test\/system\/host\/kills\.ts /, why: development }
]

export const reasonsFor = ({ command }: Shown) => notRun.filter((one) => one.command.test(command))
