"""The server's kernels: one whose page has gone ends, whatever it computes (fedlib.pages names this class to Voila)."""

import time

import traitlets
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager


class Kernels(AsyncMappingKernelManager):
    """Goes by who is connected. jupyter_server goes by activity: of that a training has much that nobody looks at, and
    a kernel that has waited for an hour has none in the seconds in which a page takes it.
    """

    alone = traitlets.Dict()  # kernel -> since when nobody is connected

    async def start_kernel(self, **start_args) -> str:
        """Without its warning, for each kernel, that its sockets are of this machine only but not encrypted."""
        return await super().start_kernel(extra_arguments=["--IPKernelApp.log_level=ERROR"], **start_args)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """Called now and then, for kernels that do not wait in Voila's pool."""
        now = time.monotonic()
        if self._kernel_connections.get(kernel_id, 0):
            self.alone.pop(kernel_id, None)
        elif now - self.alone.setdefault(kernel_id, now) > self.cull_idle_timeout:
            del self.alone[kernel_id]
            await self.shutdown_kernel(kernel_id)
