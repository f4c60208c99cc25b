/** Two spellings of one address, told apart by nobody but the mail server that has them: compared without case. */
export const foldedEmail = (email: string): string => email.normalize("NFC").toLowerCase()
