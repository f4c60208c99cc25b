/** Folds an address for comparison without case: only its mail server could tell two spellings apart. */
export const foldedEmail = (email: string): string => email.normalize("NFC").toLowerCase()
