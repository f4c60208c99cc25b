"""A user's program with the Python library: `python3 transfer.py SANDBOX up|down FOLDER SIZE…`. Prints its peak of memory after each file, in bytes."""

import json
import os
import resource
import sys

import atoll

sandbox_id, direction, folder, *sizes = sys.argv[1:]
peaks = []
with atoll.Atoll() as client:
    sandbox = client.sandboxes.get(sandbox_id)
    for size in map(int, sizes):
        if direction == "up":
            sandbox.files.upload(os.path.join(folder, str(size)), str(size))
        else:
            count = sum(len(chunk) for chunk in sandbox.files.chunks(str(size)))
            assert count == size, count
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
print(json.dumps(peaks))
