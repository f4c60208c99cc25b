"""A web server in a Sandbox, its page in your browser, and a change of it: `python3 dev_server.py`, Ctrl-C ends it."""

import atoll

with atoll.Atoll() as client, client.sandboxes.create(
    network_enabled=True, lifetime=atoll.Lifetime(stop_after_seconds=3600)
) as sandbox:
    sandbox.files.write("index.html", "<h1>Hello</h1>")
    server = sandbox.start(["python3", "-um", "http.server", "3000"], cwd="/workspace")

    with sandbox.previews.open(3000) as preview:  # waits until the server answers
        print(f"Open {preview.url}", flush=True)
        sandbox.files.edit("index.html", old_text="Hello", new_text="Hello again")
        try:
            for chunk in server.output():  # who asks for what
                print(chunk.data.decode(), end="", flush=True)
        except KeyboardInterrupt:
            pass
