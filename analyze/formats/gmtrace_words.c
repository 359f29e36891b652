/* SPDX-License-Identifier: Apache-2.0
 *
 * Part of version 1 of the .gmtrace format: never to be changed. Each word ends with a NUL, as in the stream of
 * strings; names that stacks of any PyTorch program are likely to hold, then the words that loading a snapshot interns
 * first.
 */
#include "analyze/formats/gmtrace_format.h"

#define PART_1                                                                                                         \
    "/build/python/Python-3.11.9/Objects/methodobject.c\0"                                                             \
    "/usr/local/src/conda/python-3.11.9/Python/ceval.c\0"                                                              \
    "/usr/local/src/conda/python-3.11.9/Include/internal/pycore_ceval.h\0"                                             \
    "/usr/local/src/conda/python-3.11.9/Objects/call.c\0"                                                              \
    "/usr/local/src/conda/python-3.11.9/Objects/classobject.c\0"                                                       \
    "/usr/local/src/conda/python-3.11.9/Objects/descrobject.c\0"                                                       \
    "/usr/local/src/conda/python-3.11.9/Objects/typeobject.c\0"                                                        \
    "/usr/local/src/conda/python-3.11.9/Include/cpython/abstract.h\0"                                                  \
    "/usr/local/src/conda/python-3.11.9/Python/bltinmodule.c\0"                                                        \
    "/usr/local/src/conda/python-3.11.9/Python/pythonrun.c\0"                                                          \
    "/usr/local/src/conda/python-3.11.9/Modules/main.c\0/pytorch/build/aten/src/ATen/RegisterCUDA.cpp\0"               \
    "/pytorch/build/aten/src/ATen/ops/empty.h\0"                                                                       \
    "/pytorch/torch/csrc/autograd/generated/python_torch_functions.cpp\0"                                              \
    "/pytorch/torch/csrc/autograd/generated/VariableType_0.cpp\0/pytorch/torch/csrc/autograd/engine.cpp\0"             \
    "/pytorch/aten/src/ATen/native/cuda/Blas.cpp\0"                                                                    \
    "/pytorch/aten/src/ATen/core/boxing/impl/WrapFunctionIntoFunctor.h\0"                                              \
    "/pytorch/c10/cuda/CUDACachingAllocator.cpp\0"                                                                     \
    "_PyEval_EvalFrame\0_PyEval_EvalFrameDefault\0_PyEval_Vector\0_PyFunction_Vectorcall\0"                            \
    "_PyObject_Call\0_PyObject_Call_Prepend\0_PyObject_FastCallDictTstate\0_PyObject_MakeTpCall\0"                     \
    "_PyObject_VectorcallTstate\0PyObject_Vectorcall\0PyObject_Call\0PyEval_EvalCode\0Py_RunMain\0"                    \
    "Py_BytesMain\0PyVectorcall_Call\0cfunction_call\0cfunction_vectorcall_FASTCALL_KEYWORDS\0"                        \
    "method_vectorcall\0method_vectorcall_VARARGS_KEYWORDS\0slot_tp_call\0run_eval_code_obj\0"                         \
    "pymain_run_file_obj\0do_call_core\0builtin_exec\0__libc_start_main\0__libc_start_call_main\0_start\0"             \
    "clone3\0torch::unwind::unwind()\0torch::CapturedTraceback::gather(bool, bool, bool)\0"                            \
    "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)\0"                       \
    "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, torch::auto"             \
    "grad::Node*, torch::autograd::InputBuffer&, std::shared_ptr<torch::autograd::ReadyQueue> const&)\0"               \
    "torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)\0"                      \
    "torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue>"             \
    " const&, bool)\0"                                                                                                 \
    "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)\0"                 \
    "torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)\0"      \
    "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)\0"         \
    "torch::autograd::generated::MulBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)\0"        \
    "torch::autograd::VariableType::(anonymous namespace)::\0"                                                         \
    "torch::autograd::THPVariable_to(_object*, _object*, _object*)\0"                                                  \
    "torch::autograd::THPVariable_linear(_object*, _object*, _object*)\0"                                              \
    "torch::ADInplaceOrView::(anonymous namespace)::\0"                                                                \
    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(int, unsigned long, CUstream_st*)\0"      \
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, signed char, unsigne"             \
    "d long, CUstream_st*)"
#define PART_2                                                                                                         \
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)\0"                       \
    "c10::TensorImpl::~TensorImpl()\0"                                                                                 \
    "c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<c10::CompileTime"             \
    "FunctionPointer<at::Tensor (c10::DispatchKeySet, at::Tensor const&, at::Tensor const&), &torch::auto"             \
    "grad::VariableType::(anonymous namespace)::mm>, at::Tensor, c10::guts::typelist::typelist<c10::Dispa"             \
    "tchKeySet, at::Tensor const&, at::Tensor const&> >, at::Tensor (c10::DispatchKeySet, at::Tensor cons"             \
    "t&, at::Tensor const&)>::call(c10::OperatorKernel*, c10::DispatchKeySet, at::Tensor const&, at::Tens"             \
    "or const&)\0"                                                                                                     \
    "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*, c10::DispatchKeySet, c10::ScalarType"             \
    ", std::optional<c10::MemoryFormat>)\0"                                                                            \
    "at::detail::empty_strided_cuda(c10::ArrayRef<long>, c10::ArrayRef<long>, c10::ScalarType, std::optio"             \
    "nal<c10::Device>)\0"                                                                                              \
    "at::_ops::empty_memory_format::call(c10::ArrayRef<c10::SymInt>, std::optional<c10::ScalarType>, std:"             \
    ":optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat>)\0"     \
    "at::_ops::empty_strided::redispatch(c10::DispatchKeySet, c10::ArrayRef<c10::SymInt>, c10::ArrayRef<c"             \
    "10::SymInt>, std::optional<c10::ScalarType>, std::optional<c10::Layout>, std::optional<c10::Device>,"             \
    " std::optional<bool>)\0"                                                                                          \
    "at::_ops::addmm::call(at::Tensor const&, at::Tensor const&, at::Tensor const&, c10::Scalar const&, c"             \
    "10::Scalar const&)\0at::_ops::mm::call(at::Tensor const&, at::Tensor const&)\0"                                   \
    "at::_ops::mul_Tensor::redispatch(c10::DispatchKeySet, at::Tensor const&, at::Tensor const&)\0"                    \
    "at::_ops::_to_copy::redispatch(c10::DispatchKeySet, at::Tensor const&, std::optional<c10::ScalarType"             \
    ">, std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>, bool, std::optional<"             \
    "c10::MemoryFormat>)\0"                                                                                            \
    "at::(anonymous namespace)::wrapper_CUDA_addmm(at::Tensor const&, at::Tensor const&, at::Tensor const"             \
    "&, c10::Scalar const&, c10::Scalar const&)\0"                                                                     \
    "at::(anonymous namespace)::create_out(c10::ArrayRef<long>, c10::ArrayRef<long>, c10::TensorOptions const&)\0"     \
    "at::(anonymous namespace)::structured_ufunc_add_CUDA_functional::set_output_raw_strided(long, c10::A"             \
    "rrayRef<long>, c10::ArrayRef<long>, c10::TensorOptions, c10::ArrayRef<at::Dimname>)\0"                            \
    "at::meta::structured_mm::meta(at::Tensor const&, at::Tensor const&)\0"                                            \
    "at::TensorIteratorBase::allocate_or_resize_outputs()\0"                                                           \
    "at::TensorIteratorBase::build(at::TensorIteratorConfig&)\0"                                                       \
    "at::native::linear(at::Tensor const&, at::Tensor const&, std::optional<at::Tensor> const&)\0"                     \
    "at::native::matmul(at::Tensor const&, at::Tensor const&)\0"                                                       \
    "at::native::to(at::Tensor const&, std::optional<c10::ScalarType>, std::optional<c10::Layout>, std::o"             \
    "ptional<c10::Device>, std::optional<bool>, bool, bool, std::optional<c10::MemoryFormat>)\0"                       \
    "/usr/local/lib/python3.12/dist-packages/torch/\0"                                                                 \
    "/home/user/miniconda3/envs/env/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py\0"        \
    "/lib/python3.10/site-packages/transformers/trainer.py"
#define PART_3                                                                                                         \
    "/lib/python3.10/site-packages/accelerate/accelerator.py\0"                                                        \
    "/.venv/lib/python3.12/site-packages/torch/_dynamo/eval_frame.py\0"                                                \
    "/site-packages/torch/_inductor/output_code.py\0/site-packages/torch/_functorch/aot_autograd.py\0"                 \
    "/site-packages/torch/_functorch/_aot_autograd/runtime_wrappers.py\0"                                              \
    "/site-packages/torch/distributed/fsdp/fully_sharded_data_parallel.py\0"                                           \
    "/site-packages/torch/distributed/distributed_c10d.py\0/site-packages/torch/utils/checkpoint.py\0"                 \
    "/site-packages/torch/utils/data/dataloader.py\0/site-packages/torch/utils/_contextlib.py\0"                       \
    "/site-packages/torch/utils/_device.py\0/site-packages/torch/utils/_foreach_utils.py\0"                            \
    "/site-packages/torch/profiler/profiler.py\0/site-packages/torch/cuda/memory.py\0"                                 \
    "/site-packages/torch/cuda/nvtx.py\0/site-packages/torch/amp/grad_scaler.py\0"                                     \
    "/site-packages/torch/amp/autocast_mode.py\0/site-packages/torch/autograd/graph.py\0"                              \
    "/site-packages/torch/autograd/__init__.py\0/site-packages/torch/autograd/function.py\0"                           \
    "/site-packages/torch/autograd/profiler.py\0/site-packages/torch/optim/lr_scheduler.py\0"                          \
    "/site-packages/torch/optim/adamw.py\0/site-packages/torch/optim/adam.py\0"                                        \
    "/site-packages/torch/optim/sgd.py\0/site-packages/torch/optim/optimizer.py\0"                                     \
    "/site-packages/torch/_tensor.py\0/site-packages/torch/_ops.py\0/site-packages/torch/_compile.py\0"                \
    "/site-packages/torch/functional.py\0/site-packages/torch/nn/init.py\0"                                            \
    "/site-packages/torch/nn/utils/clip_grad.py\0/site-packages/torch/nn/functional.py\0"                              \
    "/site-packages/torch/nn/parallel/distributed.py\0/site-packages/torch/nn/modules/loss.py\0"                       \
    "/site-packages/torch/nn/modules/batchnorm.py\0/site-packages/torch/nn/modules/conv.py\0"                          \
    "/site-packages/torch/nn/modules/dropout.py\0/site-packages/torch/nn/modules/activation.py\0"                      \
    "/site-packages/torch/nn/modules/normalization.py\0/site-packages/torch/nn/modules/sparse.py\0"                    \
    "/site-packages/torch/nn/modules/container.py\0/site-packages/torch/nn/modules/transformer.py\0"                   \
    "/site-packages/torch/nn/modules/linear.py\0/site-packages/torch/nn/modules/module.py\0<string>\0"                 \
    "<eval_with_key>.0\0<frozen runpy>\0<frozen importlib._bootstrap>\0_run_module_as_main\0_run_code\0"               \
    "<module>\0<lambda>\0<listcomp>\0<genexpr>\0__init__\0__call__\0__enter__\0__next__\0main\0run\0"                  \
    "train\0train_step\0training_step\0evaluate\0benchmark\0scaled_dot_product_attention\0cross_entropy\0"             \
    "softmax\0layer_norm\0rms_norm\0dropout\0linear\0gelu\0silu\0relu\0embedding\0conv2d\0"                            \
    "clip_grad_norm_\0_init_group\0_multi_tensor_adamw\0_multi_tensor_adam\0_single_tensor_adamw\0"                    \
    "_group_tensors_by_device_and_dtype\0_use_grad\0profile_hook_step\0zero_grad\0step\0wrapper\0inner\0"              \
    "wrapped\0decorate_context\0decorate_autocast\0_fn\0_engine_run_backward\0backward\0apply\0convert\0"              \
    "_apply\0to\0cuda\0half\0_call_impl\0_wrapped_call_impl\0forward\0PYTORCH_CUDA_ALLOC_CONF\0"                       \
    "expandable_segments:True\0max_split_size\0garbage_collection_threshold\0expandable_segments\0"                    \
    "pinned_num_register_threads\0release_lock_on_cudamalloc\0pinned_use_cuda_host_register\0"                         \
    "roundup_power2_divisions\0graph_capture_record_stream_reuse\0throw_on_cudamalloc_oom\0"                           \
    "large_segment_size_mb\0per_process_memory_fraction\0ProfilerStep#1\0Optimizer.step#AdamW.step"
#define PART_4                                                                                                         \
    "Optimizer.zero_grad#AdamW.zero_grad\0enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\0"               \
    "Torch-Compiled Region: 0/0\0N/A\0??\0"                                                                            \
    "action\0addr\0device_free\0size\0stream\0time_us\0compile_context\0user_metadata\0pool_id\0frames\0"              \
    "category\0forward_frames\0internal_metadata\0cpp_frames\0name\0filename\0line\0fx_node_op\0"                      \
    "fx_node_name\0fx_node_target\0fx_node_info\0fx_original_trace\0device\0address\0total_size\0"                     \
    "allocated_size\0active_size\0requested_size\0segment_type\0segment_pool_id\0is_expandable\0blocks\0"              \
    "registration_counter\0state\0history\0real_size\0stage\0segments\0device_traces\0traces\0"                        \
    "allocator_settings\0external_annotations\0trace_alloc_max_entries\0trace_alloc_overflowed\0"                      \
    "host_segments\0host_traces\0inactive\0active_allocated\0active_pending_free\0active_awaiting_free\0"              \
    "small\0large\0START\0END\0other\0alloc\0free_requested\0free_completed\0segment_alloc\0"                          \
    "segment_free\0segment_map\0segment_unmap\0snapshot\0oom\0user_defined\0annotate\0free\0"                          \
    "workspace_snapshot"

/* In parts, because compilers promise no longer literals; characters only, so there is nothing between the parts. The
 * NUL at the end of a literal ends its last word. */
static const struct {
    char part_1[sizeof PART_1];
    char part_2[sizeof PART_2];
    char part_3[sizeof PART_3];
    char part_4[sizeof PART_4];
} words = {PART_1, PART_2, PART_3, PART_4};

const char *const gm_gmtrace_words = (const char *)&words;
const size_t gm_gmtrace_words_size = sizeof words;
