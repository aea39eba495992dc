import atexit
import os
import shutil
import signal
import tempfile

# Tests neither read nor write the user's cache, and do not tune.
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
os.environ["TUNEDGEMM_CACHE"] = os.path.join(FOLDER, "cache.db")
os.environ["TUNEDGEMM_POLICY"] = "compile"
os.environ.setdefault(
    "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
)  # JAX would take three quarters of a GPU's memory
signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # a script's background job ignores it, and tests send it
