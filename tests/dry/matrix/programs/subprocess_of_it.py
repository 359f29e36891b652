# SPDX-License-Identifier: Apache-2.0
"""A process that the program starts uses the device, the program does not."""
import subprocess
import sys

text = "import torch; torch.empty(1 << 26, dtype=torch.uint8, device='cuda'); print('STATS [[67108864, 67108864]]')"
subprocess.run([sys.executable, "-I", "-c", text], check=True)
import torch
