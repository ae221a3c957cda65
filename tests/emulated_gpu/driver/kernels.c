// Modules, the kernels in them, and launches.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"

// ---- modules --------------------------------------------------------------------------------------------------------

// Adds the path of a library to the file that EMULATED_GPU_RECORD names, so that its kernels can be assembled for
// chips.
static void record(const char *library) {
  const char *name = getenv("EMULATED_GPU_RECORD");
  FILE *file = name ? fopen(name, "a") : 0;
  if (!file) return;
  fprintf(file, "%s\n", library);
  fclose(file);
}

// The image of a module is the path of a library, which emulation.py made of its PTX.
API cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  (void)count, (void)options, (void)values;
  LOCKED;
  CHECK(usable_context(__func__));
  CHECK(no_capture(__func__));
  CUmodule m = calloc(1, sizeof *m);
  m->kind = MODULE;
  m->library = dlopen(image, RTLD_NOW | RTLD_LOCAL);
  NEEDS(m->library, CUDA_ERROR_INVALID_IMAGE, dlerror());
  record(image);
  const Kernel *kernels = dlsym(m->library, "emulated_kernels");
  while (kernels[m->count].name) m->count++;
  m->functions = calloc(m->count, sizeof *m->functions);
  for (int i = 0; i < m->count; i++) {
    const Kernel *k = &kernels[i];
    m->functions[i] = (struct CUfunc_st){.kind = FUNCTION, .module = m, .kernel = k};
    if (!k->count) continue;
    const Parameter *last = &k->parameters[k->count - 1];
    m->functions[i].parameters_size = last->offset + last->size;
  }
  *module = m;
  return CUDA_SUCCESS;
}

API cuModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadDataEx(module, image, 0, 0, 0); }

API cuModuleUnload(CUmodule module) {
  LOCKED;
  NEEDS(module->kind == MODULE && !module->dead, CUDA_ERROR_INVALID_HANDLE, "the module was unloaded");
  module->dead = 1;
  return CUDA_SUCCESS;
}

API cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  LOCKED;
  CHECK(usable_context(__func__));
  for (int i = 0; i < module->count; i++) {
    if (strcmp(module->functions[i].kernel->name, name)) continue;
    *function = &module->functions[i];
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

// Libraries are modules of all devices; here modules are.
API cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options, void **values, unsigned count,
                      CUlibraryOption *library_options, void **library_values, unsigned library_count) {
  (void)options, (void)values, (void)count, (void)library_options, (void)library_values, (void)library_count;
  return cuModuleLoadDataEx((CUmodule *)library, image, 0, 0, 0);
}

API cuLibraryUnload(CUlibrary library) { return cuModuleUnload((CUmodule)library); }

API cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  return cuModuleGetFunction((CUfunction *)kernel, (CUmodule)library, name);
}

API cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  *module = (CUmodule)library;
  return CUDA_SUCCESS;
}

API cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  *function = (CUfunction)kernel;
  return CUDA_SUCCESS;
}

API cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
  *library = (CUlibrary)((CUfunction)kernel)->module;
  return CUDA_SUCCESS;
}

// ---- what kernels are like ------------------------------------------------------------------------------------------

API cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction function) {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = MOST_THREADS;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = function->kernel->shared;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}

API cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel kernel, CUdevice device) {
  (void)device;
  return cuFuncGetAttribute(value, which, (CUfunction)kernel);
}

API cuFuncGetParamInfo(CUfunction function, size_t number, size_t *offset, size_t *size) {
  const Kernel *k = function->kernel;
  if (number >= (size_t)k->count) return CUDA_ERROR_INVALID_VALUE;
  *offset = k->parameters[number].offset;
  if (size) *size = k->parameters[number].size;
  return CUDA_SUCCESS;
}

API cuKernelGetParamInfo(CUkernel kernel, size_t number, size_t *offset, size_t *size) {
  return cuFuncGetParamInfo((CUfunction)kernel, number, offset, size);
}

// ---- launches -------------------------------------------------------------------------------------------------------

API cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned dynamic, CUstream stream, void **parameters,
                   void **extra) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  NEEDS(function && function->kind == FUNCTION, CUDA_ERROR_INVALID_HANDLE, "that is no kernel");
  NEEDS(grid_x && grid_y && grid_z && grid_x <= INT32_MAX && grid_y <= 65535 && grid_z <= 65535,
        CUDA_ERROR_INVALID_VALUE, "the blocks of the grid");
  NEEDS(block_x && block_y && block_z && block_x <= MOST_THREADS && block_y <= MOST_THREADS && block_z <= 64 &&
            block_x * block_y * block_z <= MOST_THREADS,
        CUDA_ERROR_INVALID_VALUE, "the threads of a block");
  NEEDS(function->kernel->shared + dynamic <= MOST_SHARED, CUDA_ERROR_INVALID_VALUE, "too much shared memory");
  NEEDS(!extra, CUDA_ERROR_NOT_SUPPORTED, "extra parameters");
  Operation *o = operation(LAUNCH);
  o->function = function;
  o->parameters = malloc(function->parameters_size + 1);
  for (int i = 0; i < function->kernel->count; i++) {
    Parameter p = function->kernel->parameters[i];
    memcpy(o->parameters + p.offset, parameters[i], p.size);
  }
  o->launch = (Launch){.kernel = function->kernel,
                       .parameters = o->parameters,
                       .grid = {grid_x, grid_y, grid_z},
                       .block = {block_x, block_y, block_z},
                       .dynamic = dynamic,
                       .device = stream->context->device,
                       .order = settings.order};
  return asked(stream, o);
}

API cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **parameters, void **extra) {
  return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
                        c->sharedMemBytes, c->hStream, parameters, extra);
}

API cuLaunchHostFunc(CUstream stream, CUhostFn call, void *data) {
  LOCKED;
  CHECK(usable_stream_here(stream, __func__));
  Operation *o = operation(CALL);
  o->call = call;
  o->data = data;
  return asked(stream, o);
}
