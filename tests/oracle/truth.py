# SPDX-License-Identifier: Apache-2.0
"""What a program's blocks are for, as the program itself knows it: noted while it runs as (time, address, role), with the
times of its phases and of its optimizer steps. Of a tensor the address is its storage's, which is the block's."""
import json
import time


def microseconds():
    return time.time_ns() // 1000  # the clock of the trace's events


def rounds(count, begin, late):
    """The numbers of a program's rounds; a recording that begins late does so before number `late`."""
    for number in range(count):
        if number == late:
            begin()
        yield number


class Truth:
    def __init__(self, torch, optimizer_steps=True):
        self.torch, self.notes, self.phases, self.steps = torch, [], [], []
        self.parameters, self.modules, self.optimizers = {}, [], []
        if optimizer_steps:
            from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
            register_optimizer_step_pre_hook(self.before_step)
            register_optimizer_step_post_hook(self.after_step)

    def note(self, tensor, role):
        tensor = getattr(tensor, "_local_tensor", tensor)
        if tensor is not None and getattr(tensor, "is_cuda", False) and tensor.untyped_storage().nbytes() > 0:
            self.notes.append((microseconds(), tensor.untyped_storage().data_ptr(), role))

    def watch(self, *modules):
        """Parameters and buffers of modules; their gradients as they come."""
        for module in modules:
            self.modules.append(module)
            for parameter in module.parameters():
                if parameter not in self.parameters:
                    self.parameters[parameter] = True
                    if parameter.requires_grad:
                        parameter.register_post_accumulate_grad_hook(lambda p: self.note(p.grad, "Gradient"))
        self.look()

    def look(self):
        for module in self.modules:
            for parameter in module.parameters():
                self.note(parameter, "Parameter")
                self.note(parameter.grad, "Gradient")
            for buffer in module.buffers():
                self.note(buffer, "Parameter")
        for optimizer in self.optimizers:
            for state in optimizer.state.values():
                for value in state.values():
                    if self.torch.is_tensor(value):
                        self.note(value, "Optimizer state")

    def before_step(self, optimizer, *_):
        if optimizer not in self.optimizers:
            self.optimizers.append(optimizer)
        self.look()
        self.phase("optimizer")

    def after_step(self, optimizer, *_):
        self.phase("forward")
        self.look()
        self.step()

    def step(self):
        """One round of what the program repeats."""
        self.steps.append(microseconds())

    def phase(self, name):
        """From here on: "forward" (everything else, too), "backward", "optimizer"."""
        self.phases.append((microseconds(), name))

    def write(self, path):
        self.look()
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"notes": sorted(set(self.notes)), "phases": self.phases, "steps": self.steps}, file)
