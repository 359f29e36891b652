/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX calls, taken apart by their numbers in CUPTI. All domains are one to us.
 */
#include "replay/recorder/glue.h"

#include <cupti.h>
#include <generated_nvtx_meta.h>

static void named(struct gm_nvtx_call *call, const nvtxEventAttributes_t *attributes)
{
    if (attributes == NULL)
        return;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII)
        call->name = attributes->message.ascii;
    else if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
        call->registered = (uint64_t)(uintptr_t)attributes->message.registered;
}

static void decode_push(uint32_t id, const void *parameters, struct gm_nvtx_call *call)
{
    call->kind = GM_NVTX_PUSH;
    if (id == CUPTI_CBID_NVTX_nvtxRangePushA)
        call->name = ((const nvtxRangePushA_params *)parameters)->message;
    else if (id == CUPTI_CBID_NVTX_nvtxRangePushEx)
        named(call, ((const nvtxRangePushEx_params *)parameters)->eventAttrib);
    else if (id == CUPTI_CBID_NVTX_nvtxDomainRangePushEx)
        named(call, ((const nvtxDomainRangePushEx_params *)parameters)->core.eventAttrib);
}

static void decode_start(uint32_t id, const void *parameters, const void *result, struct gm_nvtx_call *call)
{
    call->kind = GM_NVTX_START;
    call->id = result != NULL ? *(const nvtxRangeId_t *)result : 0;
    if (id == CUPTI_CBID_NVTX_nvtxRangeStartA)
        call->name = ((const nvtxRangeStartA_params *)parameters)->message;
    else if (id == CUPTI_CBID_NVTX_nvtxRangeStartEx)
        named(call, ((const nvtxRangeStartEx_params *)parameters)->eventAttrib);
    else if (id == CUPTI_CBID_NVTX_nvtxDomainRangeStartEx)
        named(call, ((const nvtxDomainRangeStartEx_params *)parameters)->core.eventAttrib);
}

void gm_nvtx_decode(uint32_t id, const void *parameters, const void *result, struct gm_nvtx_call *call)
{
    *call = (struct gm_nvtx_call){.kind = GM_NVTX_OTHER};
    if (id == CUPTI_CBID_NVTX_nvtxRangePop || id == CUPTI_CBID_NVTX_nvtxDomainRangePop) {
        call->kind = GM_NVTX_POP;
        return;
    }
    if (parameters == NULL)
        return;
    switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePushA:
    case CUPTI_CBID_NVTX_nvtxRangePushW:
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx:
        decode_push(id, parameters, call);
        break;
    case CUPTI_CBID_NVTX_nvtxRangeStartA:
    case CUPTI_CBID_NVTX_nvtxRangeStartW:
    case CUPTI_CBID_NVTX_nvtxRangeStartEx:
    case CUPTI_CBID_NVTX_nvtxDomainRangeStartEx:
        decode_start(id, parameters, result, call);
        break;
    case CUPTI_CBID_NVTX_nvtxRangeEnd:
        call->kind = GM_NVTX_END;
        call->id = ((const nvtxRangeEnd_params *)parameters)->id;
        break;
    case CUPTI_CBID_NVTX_nvtxDomainRangeEnd:
        call->kind = GM_NVTX_END;
        call->id = ((const nvtxDomainRangeEnd_params *)parameters)->core.id;
        break;
    case CUPTI_CBID_NVTX_nvtxDomainRegisterStringA:
        call->kind = GM_NVTX_REGISTER;
        call->name = ((const nvtxDomainRegisterStringA_params *)parameters)->string;
        call->registered = result != NULL ? (uint64_t)(uintptr_t) * (const nvtxStringHandle_t *)result : 0;
        break;
    default:
        break;
    }
}
