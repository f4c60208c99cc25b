/** The user's own shell as a login shell, for every kind of session. */
export const loginShell = ["/bin/sh", "-c", 'exec "$SHELL" -l']
