/** Null: the field is empty, or not there. */
export const trimmed = (data: FormData, name: string): string | null => String(data.get(name) ?? "").trim() || null
