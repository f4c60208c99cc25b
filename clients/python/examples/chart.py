"""Runs code that a model might have written, and shows the chart that it draws: `python3 chart.py [chart.svg]`."""

import sys
from pathlib import Path

import atoll

CODE = """
import math

points = [(x, 100 - 80 * math.sin(x / 30)) for x in range(0, 400, 4)]
line = " ".join(f"{x},{y:.1f}" for x, y in points)
with open("chart.svg", "w") as chart:
    chart.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">')
    chart.write(f'<polyline points="{line}" fill="none" stroke="teal" stroke-width="3"/></svg>')
print(f"{len(points)} points")
"""

with atoll.Atoll() as client, client.sandboxes.create() as sandbox:
    result = sandbox.run(["python3", "-"], stdin=CODE, timeout_seconds=60)
    if result.exit_code != 0:
        raise SystemExit(result.stderr)
    file = Path(sys.argv[1] if len(sys.argv) > 1 else "chart.svg")
    file.write_bytes(sandbox.files.read_bytes("chart.svg"))
    print(f"{result.stdout.strip()}: open {file}")
