/**
 * Ends this process with SIGKILL at one of its effects: calls of the named methods, once before each is done and once
 * after.
 */
export class KilledAtEffect {
  private readonly at: number
  private isCounting = false
  effects = 0

  constructor(at: number) {
    this.at = at
  }

  /** Effects count from now on. */
  begin(): void {
    this.isCounting = true
  }

  /** Methods that return a promise. */
  count(prototype: object, names: ReadonlyArray<string>): void {
    const methods = prototype as Record<string, (this: unknown, ...args: Array<unknown>) => Promise<unknown>>
    const pass = () => this.pass()
    for (const name of names) {
      const original = methods[name]!
      methods[name] = async function (...args) {
        await pass()
        const answer = await original.apply(this, args)
        await pass()
        return answer
      }
    }
  }

  private async pass(): Promise<void> {
    if (!this.isCounting || ++this.effects !== this.at) return
    process.kill(process.pid, "SIGKILL")
    await new Promise(() => {})
  }
}
