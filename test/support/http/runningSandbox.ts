import type { Ask, TestApi } from "./TestApi.ts"

/** A new running Sandbox, and `send`, which requests paths below its address. */
export const runningSandbox = async (api: TestApi["Service"]) => {
  const id = await api.newSandbox(await api.newWorkspace())
  const send = (method: string, call: string, ask: Ask = {}) => api.send(method, `/api/v2/sandboxes/${id}${call}`, ask)
  return { id, send, api }
}
