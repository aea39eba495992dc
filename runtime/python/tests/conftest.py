import os

# Tests neither read nor write the user's cache, and tune quickly.
os.environ["TUNEDGEMM_CACHE"] = ""
os.environ["TUNEDGEMM_POLICY"] = "compile"
