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
from ._async.operation import AsyncOperation
from ._async.preview_socket import AsyncPreviewSocket
from ._async.previews import AsyncPreview, AsyncPreviews
from ._async.sandbox import AsyncSandbox
from ._async.sandboxes import AsyncSandboxes
from ._async.terminal import AsyncTerminal
from ._async.tunnel import AsyncTunnel
from ._async.usage import AsyncUsage
from ._async.workspaces import AsyncWorkspaces
from ._given import UNSET
from ._sync.client import Atoll
from ._sync.files import Files
from ._sync.forward import Forward
from ._sync.operation import Operation
from ._sync.preview_socket import PreviewSocket
from ._sync.previews import Preview, Previews
from ._sync.sandbox import Sandbox
from ._sync.sandboxes import Sandboxes
from ._sync.terminal import Terminal
from ._sync.tunnel import Tunnel
from ._sync.usage import Usage
from ._sync.workspaces import Workspaces
from ._unpack import Downloaded
from ._version import __version__
from .errors import AtollError, ConnectionError, ConnectionLost, Error, Outcome, UnreadableAnswer, WaitTimeout
from .output_chunk import OutputChunk
from .run_result import RunResult
from .schemas import Lifetime, Profile
from .service_errors import *
from .service_errors import __all__ as _service_errors
from .terminal_exit import TerminalExit
from .transition_event import TransitionEvent

__all__ = [
    "AsyncAtoll",
    "AsyncFiles",
    "AsyncForward",
    "AsyncOperation",
    "AsyncPreview",
    "AsyncPreviewSocket",
    "AsyncPreviews",
    "AsyncSandbox",
    "AsyncSandboxes",
    "AsyncTerminal",
    "AsyncTunnel",
    "AsyncUsage",
    "AsyncWorkspaces",
    "Atoll",
    "AtollError",
    "ConnectionError",
    "ConnectionLost",
    "Downloaded",
    "Error",
    "Files",
    "Forward",
    "Lifetime",
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
