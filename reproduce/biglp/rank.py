"""`rank.py FOLDER COMMAND…`: run a command and write its peak memory in bytes to a file in the folder."""

import os
import resource
import subprocess
import sys

folder, *command = sys.argv[1:]
code = subprocess.call(command)
with open(os.path.join(folder, f"peak-{os.getpid()}"), "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024))
sys.exit(code)
