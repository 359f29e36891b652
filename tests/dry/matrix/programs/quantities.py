# SPDX-License-Identifier: Apache-2.0
"""What a program asks of the device beside memory."""
import torch

properties = torch.cuda.get_device_properties(0)
assert properties.total_memory > 0 and properties.multi_processor_count > 0 and properties.major > 0
torch.cuda.get_device_name(), torch.cuda.is_bf16_supported(), torch.backends.cudnn.version(), torch.cuda.get_arch_list(), torch.cuda.current_blas_handle()
torch.cuda.mem_get_info(), torch.cuda.memory_summary()
torch.manual_seed(1)
torch.cuda.set_rng_state(torch.cuda.get_rng_state())
x = torch.randn(8, device="cuda")
