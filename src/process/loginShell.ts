/** The user's own shell as a login shell, whichever way somebody comes in. */
export const loginShell = ["/bin/sh", "-c", 'exec "$SHELL" -l']
