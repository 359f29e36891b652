# SPDX-License-Identifier: Apache-2.0
# needs: pynvml
"""What a program asks of NVML."""
import pynvml
import torch

x = torch.empty(1 << 26, dtype=torch.uint8, device="cuda")
pynvml.nvmlInit()
device = pynvml.nvmlDeviceGetHandleByIndex(0)
memory = pynvml.nvmlDeviceGetMemoryInfo(device)
assert memory.used >= 1 << 26 and memory.used + memory.free == memory.total
assert pynvml.nvmlDeviceGetName(device) == torch.cuda.get_device_name()
pynvml.nvmlDeviceGetUtilizationRates(device)
torch.cuda.utilization(), torch.cuda.memory_usage(), torch.cuda.list_gpu_processes(), torch.cuda.temperature()
pynvml.nvmlShutdown()
