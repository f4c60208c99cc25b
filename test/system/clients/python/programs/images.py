"""Images of Dockerfiles against a service on simulated machines; in the synchronous form, too."""

from __future__ import annotations

import asyncio
import os
import tempfile
from typing import List, Union

import atoll
from atoll import AsyncAtoll, AsyncImage, AsyncSnapshot

ARGS = {"LIST": "a,b", "PAIR": "c=d&e f", "EMPTY": ""}


async def build_args(client: AsyncAtoll, image: AsyncImage) -> List[str]:
    """As the build's command has them."""
    build = image.record.build
    assert build is not None and build.operation_id is not None, image.record
    argv = (await client.api.get_operation(build.sandbox_id, build.operation_id)).operation.argv
    return argv[-len(ARGS) :]


async def of_text(client: AsyncAtoll) -> None:
    told: List[bytes] = []
    dockerfile = "FROM scratch\nRUN true\n"
    image = await client.images.build(
        dockerfile=dockerfile,
        name="tools",
        target="last",
        build_args=ARGS,
        on_output=lambda chunk: told.append(chunk.data),
        idempotency_key="text",
    )
    assert (image.status, image.record.name, image.record.reference) == ("ready", "tools", None), image.record
    assert image.record.build is not None and image.record.build.target == "last", image.record
    assert b"".join(told) == b"STEP 1/2: FROM scratch\nSTEP 2/2: RUN true\n", told
    assert b"".join([chunk.data async for chunk in image.build_output()]) == b"".join(told)
    again = await client.images.build(
        dockerfile=dockerfile, name="tools", target="last", build_args=ARGS, idempotency_key="text"
    )
    assert again.id == image.id
    assert await build_args(client, image) == [f"{name}={value}" for name, value in ARGS.items()]

    told.clear()
    try:
        await client.images.build(dockerfile="RUN exit 7", on_output=lambda chunk: told.append(chunk.data))
    except atoll.WaitTimeout as thrown:
        assert "IMAGE_BUILD_FAILED" in str(thrown) and "exit code 7" in str(thrown), thrown
        assert told == [b"STEP 1/1: RUN exit 7\n"], told
    else:
        raise AssertionError("A failing build made an image.")


async def of_directory(client: AsyncAtoll) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "Dockerfile"), "w") as file:
            file.write("RUN true\n")
        image = await client.images.build(folder, build_args=ARGS, idempotency_key="directory", until_ready=False)
        again = await client.images.build(folder, build_args=ARGS, idempotency_key="directory")
        assert again.id == image.id and again.status == "ready", again
        # A parameter for each, and none is cut at a comma.
        assert await build_args(client, again) == [f"{name}={value}" for name, value in ARGS.items()]
        try:
            await client.images.build(folder, dockerfile="other/name")
        except atoll.InvalidRequestError as thrown:
            assert thrown.details.issues[0].path == ["dockerfile"], thrown
        else:
            raise AssertionError("There is no such Dockerfile.")
        try:
            await client.images.build(folder, snapshot="snp_x")
        except ValueError as thrown:
            assert "without context" in str(thrown), thrown
        else:
            raise AssertionError("It was sent with a snapshot.")
        try:
            await client.images.build(os.path.join(folder, "Dockerfile"))
        except NotADirectoryError:
            return
        raise AssertionError("A file was sent as a directory.")


async def of_snapshot(client: AsyncAtoll) -> None:
    async with client.sandboxes.create() as sandbox:
        snapshot = await sandbox.snapshot()
        both: List[Union[AsyncSnapshot, str]] = [snapshot, snapshot.id]
        for given in both:
            image = await client.images.build(dockerfile="RUN true", snapshot=given)
            assert image.record.build is not None, image.record
            made = await client.sandboxes.get(image.record.build.sandbox_id)
            assert made.record.snapshot_id == snapshot.id, made.record


async def main() -> None:
    async with AsyncAtoll() as client:
        await of_text(client)
        await of_directory(client)
        await of_snapshot(client)


asyncio.run(main())
