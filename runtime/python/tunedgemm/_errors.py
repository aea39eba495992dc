"""The exceptions of failed calls. The library writes their texts: what was wrong, with which value,
and what to do."""


class Error(Exception):
    """A call of the library failed."""


class InvalidArgumentError(Error, ValueError):
    """An argument is wrong."""


class UnsupportedError(Error):
    """No kernel computes the problem, or none can be compiled."""


class NotTunedError(Error):
    """The policy permits no kernel that is ready."""


class OutOfMemoryError(Error, MemoryError):
    """The host has too little memory, or the device has too little for a workspace."""


class NoDeviceError(Error):
    """There is no such GPU, or no driver."""


class DeviceFailedError(Error, RuntimeError):
    """The driver reported an error; the device may be lost."""


class InternalError(Error, RuntimeError):
    """A bug of the library: please report the message."""


# By tunedgemm_status.
BY_STATUS = {
    1: InvalidArgumentError,
    2: UnsupportedError,
    3: NotTunedError,
    4: OutOfMemoryError,
    5: NoDeviceError,
    6: DeviceFailedError,
    7: InternalError,
}
