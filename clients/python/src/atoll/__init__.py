"""Sandboxes of an Atoll service.

    import atoll

    with atoll.Atoll() as client:
        with client.sandboxes.create() as sandbox:
            print(sandbox.run(["python3", "-c", "print(6 * 7)"]).stdout)

AsyncAtoll is the same for asyncio. `atoll.schemas` has the classes of the service's answers.
"""

from . import schemas
from ._async.client import AsyncAtoll
from ._async.files import AsyncFiles
from ._async.forward import AsyncForward
from ._async.images import AsyncImage, AsyncImages
from ._async.operation import AsyncOperation
from ._async.preview_socket import AsyncPreviewSocket
from ._async.previews import AsyncPreview, AsyncPreviews
from ._async.sandbox import AsyncFork, AsyncSandbox
from ._async.sandboxes import AsyncSandboxes
from ._async.snapshots import AsyncSnapshot, AsyncSnapshots
from ._async.terminal import AsyncTerminal
from ._async.tunnel import AsyncTunnel
from ._async.usage import AsyncUsage
from ._async.workspaces import AsyncWorkspaces
from ._given import UNSET
from ._sync.client import Atoll
from ._sync.files import Files
from ._sync.forward import Forward
from ._sync.images import Image, Images
from ._sync.operation import Operation
from ._sync.preview_socket import PreviewSocket
from ._sync.previews import Preview, Previews
from ._sync.sandbox import Fork, Sandbox
from ._sync.sandboxes import Sandboxes
from ._sync.snapshots import Snapshot, Snapshots
from ._sync.terminal import Terminal
from ._sync.tunnel import Tunnel
from ._sync.usage import Usage
from ._sync.workspaces import Workspaces
from ._unpack import Downloaded
from ._version import __version__
from .errors import AtollError, ConnectionError, ConnectionLost, Error, Outcome, UnreadableAnswer, WaitTimeout
from .lineage import Lineage
from .output_chunk import OutputChunk
from .run_result import RunResult
from .schemas import Checkpoints, Lifetime, Profile
from .service_errors import *
from .service_errors import __all__ as _service_errors
from .terminal_exit import TerminalExit
from .transition_event import TransitionEvent

__all__ = [
    "AsyncAtoll",
    "AsyncFiles",
    "AsyncFork",
    "AsyncForward",
    "AsyncImage",
    "AsyncImages",
    "AsyncOperation",
    "AsyncPreview",
    "AsyncPreviewSocket",
    "AsyncPreviews",
    "AsyncSandbox",
    "AsyncSandboxes",
    "AsyncSnapshot",
    "AsyncSnapshots",
    "AsyncTerminal",
    "AsyncTunnel",
    "AsyncUsage",
    "AsyncWorkspaces",
    "Atoll",
    "AtollError",
    "Checkpoints",
    "ConnectionError",
    "ConnectionLost",
    "Downloaded",
    "Error",
    "Files",
    "Fork",
    "Forward",
    "Image",
    "Images",
    "Lifetime",
    "Lineage",
    "Profile",
    "Operation",
    "Outcome",
    "OutputChunk",
    "Preview",
    "PreviewSocket",
    "Previews",
    "RunResult",
    "Sandbox",
    "Sandboxes",
    "Snapshot",
    "Snapshots",
    "Terminal",
    "TerminalExit",
    "TransitionEvent",
    "Tunnel",
    "UNSET",
    "UnreadableAnswer",
    "Usage",
    "WaitTimeout",
    "Workspaces",
    "__version__",
    "schemas",
]
__all__ += _service_errors
