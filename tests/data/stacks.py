# SPDX-License-Identifier: Apache-2.0
"""Call stacks as PyTorch records them: C++ frames innermost, then Python; one dict per distinct frame, a new list per
capture."""

TORCH = "/usr/local/lib/python3.12/dist-packages/torch"
APP = "/workspace/pretrain"

ALLOCATE = ["c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long, "
            "CUstream_st*)",
            "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
            "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*, "
            "c10::DispatchKeySet, c10::ScalarType, std::optional<c10::MemoryFormat>)",
            "at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType, std::optional<c10::Device>, "
            "std::optional<c10::MemoryFormat>)"]
ENGINE = ["torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)",
          "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, "
          "torch::autograd::Node*, torch::autograd::InputBuffer&, std::shared_ptr<torch::autograd::ReadyQueue> const&)",
          "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)",
          "torch::autograd::Engine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)",
          "torch::autograd::python::PythonEngine::thread_init(int, "
          "std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)",
          "execute_native_thread_routine"]
CALL = [("_wrapped_call_impl", TORCH + "/nn/modules/module.py", 1775),
        ("_call_impl", TORCH + "/nn/modules/module.py", 1786)]


class Stacks:
    def __init__(self):
        self.frames = {}

    def frame(self, name, filename, line):
        key = (name, filename, line)
        if key not in self.frames:
            self.frames[key] = {"name": name, "filename": filename, "line": line}
        return self.frames[key]

    def native(self, names):
        return [self.frame(name, "??", 0) for name in names]

    def op(self, name):
        """The C++ part of calling operator `name`, innermost first."""
        return self.native(ALLOCATE + [
            f"at::(anonymous namespace)::wrapper_CUDA_{name}", f"at::_ops::{name}::redispatch(c10::DispatchKeySet, ...)",
            f"torch::autograd::VariableType::(anonymous namespace)::{name}", f"at::_ops::{name}::call(...)",
            f"torch::autograd::THPVariable_{name}(_object*, _object*, _object*)"])

    def python(self, outer_to_inner):
        return [self.frame(*frame) for frame in reversed(outer_to_inner)]

    def forward(self, op, *modules):
        """Operator `op` in the innermost of nested modules, each (function, file, line) of its forward."""
        path = [("<module>", APP + "/train.py", 301), ("main", APP + "/train.py", 287),
                ("train", APP + "/train.py", 214), ("train_step", APP + "/train.py", 163)]
        for module in modules:
            path += CALL + [module]
        return self.op(op) + self.python(path)

    def backward(self, node, op):
        """Operator `op` in autograd node `node`: a thread of the engine, without Python."""
        return self.native(ALLOCATE + [
            f"at::(anonymous namespace)::wrapper_CUDA_{op}", f"at::_ops::{op}::call(...)",
            f"torch::autograd::generated::{node}::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)"] + ENGINE)

    def accumulate(self, op):
        return self.native(ALLOCATE + [
            f"at::_ops::{op}::call(...)",
            "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)"] + ENGINE)

    def hook(self, op, function, line):
        """A communication hook of DistributedDataParallel: Python called from the engine's thread."""
        return self.op(op) + self.python([
            (function, TORCH + "/distributed/algorithms/ddp_comm_hooks/default_hooks.py", line)]) + self.native(
                ["c10d::PythonCommHook::runHook(c10d::GradBucket&)",
                 "c10d::Reducer::all_reduce_bucket(c10d::Reducer::Bucket&)", "c10d::Reducer::mark_bucket_ready(unsigned long)",
                 "c10d::Reducer::autograd_hook(unsigned long)"] + ENGINE)

    def workspace(self, call, *modules):
        return self.native(ALLOCATE[:2] + ["at::cuda::getNewWorkspace()", "at::cuda::getCurrentCUDABlasHandle()",
                                           f"at::cuda::blas::{call}"]) + self.forward("addmm", *modules)[4:]

    def optimizer(self, op, function, line):
        adamw = TORCH + "/optim/adamw.py"
        adam = TORCH + "/optim/adam.py"
        inner = [("_init_group", adam, line)] if function == "_init_group" else [
            ("adam", adam, 950), ("_multi_tensor_adam", adam, line)]
        return self.op(op) + self.python(
            [("<module>", APP + "/train.py", 301), ("main", APP + "/train.py", 287), ("train", APP + "/train.py", 214),
             ("train_step", APP + "/train.py", 176), ("wrapper", TORCH + "/optim/optimizer.py", 517),
             ("_use_grad", TORCH + "/optim/optimizer.py", 81), ("step", adamw, 247)] + inner)

    def app(self, op, *calls):
        return self.op(op) + self.python([("<module>", APP + "/train.py", 301), ("main", APP + "/train.py", 287),
                                          *calls])
