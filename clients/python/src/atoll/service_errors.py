# Made by `npm run clients` from version 2.0.0 of the service's OpenAPI description. Not to be edited.
"""An exception for each code of the service. Later versions may have more: those are an AtollError with that code."""

from __future__ import annotations

from typing import Any, Callable, Dict, Literal, Optional, Tuple, Type

from .errors import AtollError
from .schemas import (
    ArchiveIncompleteErrorDetails,
    ExecutionResult,
    ImageInUseErrorDetails,
    ImageLimitReachedErrorDetails,
    ImageNotReadyErrorDetails,
    ImageUploadsReachedErrorDetails,
    InternalErrorDetails,
    InvalidRequestErrorDetails,
    MemoryInUseErrorDetails,
    MethodNotAllowedErrorDetails,
    NoSnapshotAtRevisionErrorDetails,
    PayloadTooLargeErrorDetails,
    PreconditionFailedErrorDetails,
    RateLimitedErrorDetails,
    SandboxCannotRollBackErrorDetails,
    SandboxLimitReachedErrorDetails,
    SandboxNotCapturableErrorDetails,
    SandboxUnavailableErrorDetails,
    ScopeRequiredErrorDetails,
    ServiceUnavailableErrorDetails,
    SnapshotDoesNotFitErrorDetails,
    SnapshotLimitReachedErrorDetails,
    SnapshotNotReadyErrorDetails,
    StorageLimitReachedErrorDetails,
    TextAmbiguousErrorDetails,
    UnsupportedMediaTypeErrorDetails,
    WorkspaceNotEmptyErrorDetails,
    WorkspaceQuotaExceededErrorDetails,
)


class InvalidRequestError(AtollError):
    """`INVALID_REQUEST`"""

    code: Literal["INVALID_REQUEST"]
    details: InvalidRequestErrorDetails


class InvalidPathError(AtollError):
    """`INVALID_PATH`"""

    code: Literal["INVALID_PATH"]
    details: None


class NetworkDisabledError(AtollError):
    """`NETWORK_DISABLED`"""

    code: Literal["NETWORK_DISABLED"]
    details: None


class UnauthenticatedError(AtollError):
    """`UNAUTHENTICATED`"""

    code: Literal["UNAUTHENTICATED"]
    details: None


class CreditExhaustedError(AtollError):
    """`CREDIT_EXHAUSTED`"""

    code: Literal["CREDIT_EXHAUSTED"]
    details: None


class ScopeRequiredError(AtollError):
    """`SCOPE_REQUIRED`"""

    code: Literal["SCOPE_REQUIRED"]
    details: ScopeRequiredErrorDetails


class AccountSuspendedError(AtollError):
    """`ACCOUNT_SUSPENDED`"""

    code: Literal["ACCOUNT_SUSPENDED"]
    details: None


class CrossSiteRequestError(AtollError):
    """`CROSS_SITE_REQUEST`"""

    code: Literal["CROSS_SITE_REQUEST"]
    details: None


class NotFoundError(AtollError):
    """`NOT_FOUND`"""

    code: Literal["NOT_FOUND"]
    details: None


class MethodNotAllowedError(AtollError):
    """`METHOD_NOT_ALLOWED`"""

    code: Literal["METHOD_NOT_ALLOWED"]
    details: MethodNotAllowedErrorDetails


class ExecutionTimeoutError(AtollError):
    """`EXECUTION_TIMEOUT`"""

    code: Literal["EXECUTION_TIMEOUT"]
    details: ExecutionResult


class IdempotencyConflictError(AtollError):
    """`IDEMPOTENCY_CONFLICT`"""

    code: Literal["IDEMPOTENCY_CONFLICT"]
    details: None


class ImageNotReadyError(AtollError):
    """`IMAGE_NOT_READY`"""

    code: Literal["IMAGE_NOT_READY"]
    details: ImageNotReadyErrorDetails


class ImageInUseError(AtollError):
    """`IMAGE_IN_USE`"""

    code: Literal["IMAGE_IN_USE"]
    details: ImageInUseErrorDetails


class ImageUploadsReachedError(AtollError):
    """`IMAGE_UPLOADS_REACHED`"""

    code: Literal["IMAGE_UPLOADS_REACHED"]
    details: ImageUploadsReachedErrorDetails


class ImageLimitReachedError(AtollError):
    """`IMAGE_LIMIT_REACHED`"""

    code: Literal["IMAGE_LIMIT_REACHED"]
    details: ImageLimitReachedErrorDetails


class ImageOfOperatorError(AtollError):
    """`IMAGE_OF_OPERATOR`"""

    code: Literal["IMAGE_OF_OPERATOR"]
    details: None


class SnapshotNotReadyError(AtollError):
    """`SNAPSHOT_NOT_READY`"""

    code: Literal["SNAPSHOT_NOT_READY"]
    details: SnapshotNotReadyErrorDetails


class SandboxNotCapturableError(AtollError):
    """`SANDBOX_NOT_CAPTURABLE`"""

    code: Literal["SANDBOX_NOT_CAPTURABLE"]
    details: SandboxNotCapturableErrorDetails


class SandboxCannotRollBackError(AtollError):
    """`SANDBOX_CANNOT_ROLL_BACK`"""

    code: Literal["SANDBOX_CANNOT_ROLL_BACK"]
    details: SandboxCannotRollBackErrorDetails


class SnapshotDoesNotFitError(AtollError):
    """`SNAPSHOT_DOES_NOT_FIT`"""

    code: Literal["SNAPSHOT_DOES_NOT_FIT"]
    details: SnapshotDoesNotFitErrorDetails


class NoSnapshotAtRevisionError(AtollError):
    """`NO_SNAPSHOT_AT_REVISION`"""

    code: Literal["NO_SNAPSHOT_AT_REVISION"]
    details: NoSnapshotAtRevisionErrorDetails


class MemoryNotSupportedError(AtollError):
    """`MEMORY_NOT_SUPPORTED`"""

    code: Literal["MEMORY_NOT_SUPPORTED"]
    details: None


class SnapshotLimitReachedError(AtollError):
    """`SNAPSHOT_LIMIT_REACHED`"""

    code: Literal["SNAPSHOT_LIMIT_REACHED"]
    details: SnapshotLimitReachedErrorDetails


class WorkspaceQuotaExceededError(AtollError):
    """`WORKSPACE_QUOTA_EXCEEDED`"""

    code: Literal["WORKSPACE_QUOTA_EXCEEDED"]
    details: WorkspaceQuotaExceededErrorDetails


class WorkspaceNotEmptyError(AtollError):
    """`WORKSPACE_NOT_EMPTY`"""

    code: Literal["WORKSPACE_NOT_EMPTY"]
    details: WorkspaceNotEmptyErrorDetails


class MemoryInUseError(AtollError):
    """`MEMORY_IN_USE`"""

    code: Literal["MEMORY_IN_USE"]
    details: MemoryInUseErrorDetails


class PreviewExistsError(AtollError):
    """`PREVIEW_EXISTS`"""

    code: Literal["PREVIEW_EXISTS"]
    details: None


class CursorStaleError(AtollError):
    """`CURSOR_STALE`"""

    code: Literal["CURSOR_STALE"]
    details: None


class TextNotFoundError(AtollError):
    """`TEXT_NOT_FOUND`"""

    code: Literal["TEXT_NOT_FOUND"]
    details: None


class TextAmbiguousError(AtollError):
    """`TEXT_AMBIGUOUS`"""

    code: Literal["TEXT_AMBIGUOUS"]
    details: TextAmbiguousErrorDetails


class DestinationExistsError(AtollError):
    """`DESTINATION_EXISTS`"""

    code: Literal["DESTINATION_EXISTS"]
    details: None


class DirectoryNotEmptyError(AtollError):
    """`DIRECTORY_NOT_EMPTY`"""

    code: Literal["DIRECTORY_NOT_EMPTY"]
    details: None


class NotADirectoryError(AtollError):
    """`NOT_A_DIRECTORY`"""

    code: Literal["NOT_A_DIRECTORY"]
    details: None


class IsADirectoryError(AtollError):
    """`IS_A_DIRECTORY`"""

    code: Literal["IS_A_DIRECTORY"]
    details: None


class AlreadyExistsError(AtollError):
    """`ALREADY_EXISTS`"""

    code: Literal["ALREADY_EXISTS"]
    details: None


class ArchiveIncompleteError(AtollError):
    """`ARCHIVE_INCOMPLETE`"""

    code: Literal["ARCHIVE_INCOMPLETE"]
    details: ArchiveIncompleteErrorDetails


class PreconditionFailedError(AtollError):
    """`PRECONDITION_FAILED`"""

    code: Literal["PRECONDITION_FAILED"]
    details: PreconditionFailedErrorDetails


class PayloadTooLargeError(AtollError):
    """`PAYLOAD_TOO_LARGE`"""

    code: Literal["PAYLOAD_TOO_LARGE"]
    details: PayloadTooLargeErrorDetails


class StorageFullError(AtollError):
    """`STORAGE_FULL`"""

    code: Literal["STORAGE_FULL"]
    details: None


class UnsupportedMediaTypeError(AtollError):
    """`UNSUPPORTED_MEDIA_TYPE`"""

    code: Literal["UNSUPPORTED_MEDIA_TYPE"]
    details: UnsupportedMediaTypeErrorDetails


class SandboxLimitReachedError(AtollError):
    """`SANDBOX_LIMIT_REACHED`"""

    code: Literal["SANDBOX_LIMIT_REACHED"]
    details: SandboxLimitReachedErrorDetails


class StorageLimitReachedError(AtollError):
    """`STORAGE_LIMIT_REACHED`"""

    code: Literal["STORAGE_LIMIT_REACHED"]
    details: StorageLimitReachedErrorDetails


class RateLimitedError(AtollError):
    """`RATE_LIMITED`"""

    code: Literal["RATE_LIMITED"]
    details: RateLimitedErrorDetails


class InternalError(AtollError):
    """`INTERNAL`"""

    code: Literal["INTERNAL"]
    details: Optional[InternalErrorDetails]


class UnsupportedByRuntimeError(AtollError):
    """`UNSUPPORTED_BY_RUNTIME`"""

    code: Literal["UNSUPPORTED_BY_RUNTIME"]
    details: None


class SandboxUnavailableError(AtollError):
    """`SANDBOX_UNAVAILABLE`"""

    code: Literal["SANDBOX_UNAVAILABLE"]
    details: SandboxUnavailableErrorDetails


class ServiceUnavailableError(AtollError):
    """`SERVICE_UNAVAILABLE`"""

    code: Literal["SERVICE_UNAVAILABLE"]
    details: Optional[ServiceUnavailableErrorDetails]


class RuntimeUnavailableError(AtollError):
    """`RUNTIME_UNAVAILABLE`"""

    code: Literal["RUNTIME_UNAVAILABLE"]
    details: None


class PreviewTransportUnavailableError(AtollError):
    """`PREVIEW_TRANSPORT_UNAVAILABLE`"""

    code: Literal["PREVIEW_TRANSPORT_UNAVAILABLE"]
    details: None


class CleanupPendingError(AtollError):
    """`CLEANUP_PENDING`"""

    code: Literal["CLEANUP_PENDING"]
    details: None


BY_CODE: Dict[str, Tuple[Type[AtollError], Callable[[Any], Any]]] = {
    "INVALID_REQUEST": (InvalidRequestError, lambda details: InvalidRequestErrorDetails.from_json(details)),
    "INVALID_PATH": (InvalidPathError, lambda details: None),
    "NETWORK_DISABLED": (NetworkDisabledError, lambda details: None),
    "UNAUTHENTICATED": (UnauthenticatedError, lambda details: None),
    "CREDIT_EXHAUSTED": (CreditExhaustedError, lambda details: None),
    "SCOPE_REQUIRED": (ScopeRequiredError, lambda details: ScopeRequiredErrorDetails.from_json(details)),
    "ACCOUNT_SUSPENDED": (AccountSuspendedError, lambda details: None),
    "CROSS_SITE_REQUEST": (CrossSiteRequestError, lambda details: None),
    "NOT_FOUND": (NotFoundError, lambda details: None),
    "METHOD_NOT_ALLOWED": (MethodNotAllowedError, lambda details: MethodNotAllowedErrorDetails.from_json(details)),
    "EXECUTION_TIMEOUT": (ExecutionTimeoutError, lambda details: ExecutionResult.from_json(details)),
    "IDEMPOTENCY_CONFLICT": (IdempotencyConflictError, lambda details: None),
    "IMAGE_NOT_READY": (ImageNotReadyError, lambda details: ImageNotReadyErrorDetails.from_json(details)),
    "IMAGE_IN_USE": (ImageInUseError, lambda details: ImageInUseErrorDetails.from_json(details)),
    "IMAGE_UPLOADS_REACHED": (ImageUploadsReachedError, lambda details: ImageUploadsReachedErrorDetails.from_json(details)),
    "IMAGE_LIMIT_REACHED": (ImageLimitReachedError, lambda details: ImageLimitReachedErrorDetails.from_json(details)),
    "IMAGE_OF_OPERATOR": (ImageOfOperatorError, lambda details: None),
    "SNAPSHOT_NOT_READY": (SnapshotNotReadyError, lambda details: SnapshotNotReadyErrorDetails.from_json(details)),
    "SANDBOX_NOT_CAPTURABLE": (SandboxNotCapturableError, lambda details: SandboxNotCapturableErrorDetails.from_json(details)),
    "SANDBOX_CANNOT_ROLL_BACK": (SandboxCannotRollBackError, lambda details: SandboxCannotRollBackErrorDetails.from_json(details)),
    "SNAPSHOT_DOES_NOT_FIT": (SnapshotDoesNotFitError, lambda details: SnapshotDoesNotFitErrorDetails.from_json(details)),
    "NO_SNAPSHOT_AT_REVISION": (NoSnapshotAtRevisionError, lambda details: NoSnapshotAtRevisionErrorDetails.from_json(details)),
    "MEMORY_NOT_SUPPORTED": (MemoryNotSupportedError, lambda details: None),
    "SNAPSHOT_LIMIT_REACHED": (SnapshotLimitReachedError, lambda details: SnapshotLimitReachedErrorDetails.from_json(details)),
    "WORKSPACE_QUOTA_EXCEEDED": (WorkspaceQuotaExceededError, lambda details: WorkspaceQuotaExceededErrorDetails.from_json(details)),
    "WORKSPACE_NOT_EMPTY": (WorkspaceNotEmptyError, lambda details: WorkspaceNotEmptyErrorDetails.from_json(details)),
    "MEMORY_IN_USE": (MemoryInUseError, lambda details: MemoryInUseErrorDetails.from_json(details)),
    "PREVIEW_EXISTS": (PreviewExistsError, lambda details: None),
    "CURSOR_STALE": (CursorStaleError, lambda details: None),
    "TEXT_NOT_FOUND": (TextNotFoundError, lambda details: None),
    "TEXT_AMBIGUOUS": (TextAmbiguousError, lambda details: TextAmbiguousErrorDetails.from_json(details)),
    "DESTINATION_EXISTS": (DestinationExistsError, lambda details: None),
    "DIRECTORY_NOT_EMPTY": (DirectoryNotEmptyError, lambda details: None),
    "NOT_A_DIRECTORY": (NotADirectoryError, lambda details: None),
    "IS_A_DIRECTORY": (IsADirectoryError, lambda details: None),
    "ALREADY_EXISTS": (AlreadyExistsError, lambda details: None),
    "ARCHIVE_INCOMPLETE": (ArchiveIncompleteError, lambda details: ArchiveIncompleteErrorDetails.from_json(details)),
    "PRECONDITION_FAILED": (PreconditionFailedError, lambda details: PreconditionFailedErrorDetails.from_json(details)),
    "PAYLOAD_TOO_LARGE": (PayloadTooLargeError, lambda details: PayloadTooLargeErrorDetails.from_json(details)),
    "STORAGE_FULL": (StorageFullError, lambda details: None),
    "UNSUPPORTED_MEDIA_TYPE": (UnsupportedMediaTypeError, lambda details: UnsupportedMediaTypeErrorDetails.from_json(details)),
    "SANDBOX_LIMIT_REACHED": (SandboxLimitReachedError, lambda details: SandboxLimitReachedErrorDetails.from_json(details)),
    "STORAGE_LIMIT_REACHED": (StorageLimitReachedError, lambda details: StorageLimitReachedErrorDetails.from_json(details)),
    "RATE_LIMITED": (RateLimitedError, lambda details: RateLimitedErrorDetails.from_json(details)),
    "INTERNAL": (InternalError, lambda details: None if details is None else InternalErrorDetails.from_json(details)),
    "UNSUPPORTED_BY_RUNTIME": (UnsupportedByRuntimeError, lambda details: None),
    "SANDBOX_UNAVAILABLE": (SandboxUnavailableError, lambda details: SandboxUnavailableErrorDetails.from_json(details)),
    "SERVICE_UNAVAILABLE": (ServiceUnavailableError, lambda details: None if details is None else ServiceUnavailableErrorDetails.from_json(details)),
    "RUNTIME_UNAVAILABLE": (RuntimeUnavailableError, lambda details: None),
    "PREVIEW_TRANSPORT_UNAVAILABLE": (PreviewTransportUnavailableError, lambda details: None),
    "CLEANUP_PENDING": (CleanupPendingError, lambda details: None),
}
"""The class of each code, and what reads its details."""

__all__ = [
    "AccountSuspendedError",
    "AlreadyExistsError",
    "ArchiveIncompleteError",
    "CleanupPendingError",
    "CreditExhaustedError",
    "CrossSiteRequestError",
    "CursorStaleError",
    "DestinationExistsError",
    "DirectoryNotEmptyError",
    "ExecutionTimeoutError",
    "IdempotencyConflictError",
    "ImageInUseError",
    "ImageLimitReachedError",
    "ImageNotReadyError",
    "ImageOfOperatorError",
    "ImageUploadsReachedError",
    "InternalError",
    "InvalidPathError",
    "InvalidRequestError",
    "IsADirectoryError",
    "MemoryInUseError",
    "MemoryNotSupportedError",
    "MethodNotAllowedError",
    "NetworkDisabledError",
    "NoSnapshotAtRevisionError",
    "NotADirectoryError",
    "NotFoundError",
    "PayloadTooLargeError",
    "PreconditionFailedError",
    "PreviewExistsError",
    "PreviewTransportUnavailableError",
    "RateLimitedError",
    "RuntimeUnavailableError",
    "SandboxCannotRollBackError",
    "SandboxLimitReachedError",
    "SandboxNotCapturableError",
    "SandboxUnavailableError",
    "ScopeRequiredError",
    "ServiceUnavailableError",
    "SnapshotDoesNotFitError",
    "SnapshotLimitReachedError",
    "SnapshotNotReadyError",
    "StorageFullError",
    "StorageLimitReachedError",
    "TextAmbiguousError",
    "TextNotFoundError",
    "UnauthenticatedError",
    "UnsupportedByRuntimeError",
    "UnsupportedMediaTypeError",
    "WorkspaceNotEmptyError",
    "WorkspaceQuotaExceededError",
]
