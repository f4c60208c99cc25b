/** The ids in all examples. */
export const unique = "06a1b2c3d4e5f6g7h8j9kamnpq"

export const accountId = `acc_${unique}`
export const apiKeyId = `key_${unique}`
export const sandboxId = `sbx_${unique}`
export const imageId = `img_${unique}`
export const snapshotId = `snp_${unique}`
export const workspaceId = `wsp_${unique}`
export const endpointId = `ep_${unique}`
export const requestId = `req_${unique}`
export const operationId = "op_0123456789abcdef0123456789abcdef"
export const previewId = "0123456789abcdef0123456789abcdef"
export const generationId = "6f1c3a52-8d1b-4c3e-9a77-0d2b5f4e1c90"
export const processId = "4711-123456"
export const publicKey =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.com"
