/** A word for a shell, which it takes as it is. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
