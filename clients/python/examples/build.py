"""A long build with live output: `python3 build.py`. End it, and go on where it was with what it printed: `python3 build.py SANDBOX OPERATION`."""

import sys

import atoll

SCRIPT = 'for part in lexer parser checker linker; do echo "building $part"; sleep 1; done; echo done > result'

with atoll.Atoll() as client:
    ids = sys.argv[1:]
    sandbox = client.sandboxes.get(ids[0]) if ids else client.sandboxes.create(name="build")
    build = sandbox.operation(ids[1]) if ids else sandbox.start(["sh", "-ec", SCRIPT])
    print(f"python3 build.py {sandbox.id} {build.id}", flush=True)

    for chunk in build.output():  # goes on over lost connections
        print(chunk.data.decode(), end="", flush=True)
    exit_code = build.wait().exit_code
    print(f"built: {sandbox.files.read('result')}" if exit_code == 0 else f"failed with {exit_code}")
    sandbox.delete()
