/**
 * Python that makes a tree below a folder which is deeper than the longest path, wider than a listing, and closed to
 * its owner.
 */
export const thicket = (folder: string): string => `
import os
os.chdir("${folder}")
for n in range(3000): open(f"f{n}", "w").close()
n = "d" * 200
for _ in range(200):
    os.mkdir(n); os.chdir(n)
os.mkdir("shut"); open("shut/file", "w").close(); os.chmod("shut", 0)
`
