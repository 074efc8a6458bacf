//! The rest of CUDA 11.4's symbols, so that every program links. They are counted, and not supported.

use crate::abi::{CUresult, NOT_SUPPORTED};
use crate::entry::{Mode, Site, enter};

macro_rules! unsupported {
    ($($name:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: not supported. Its parameters are not looked at, so it names none.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> CUresult {
            static SITE: Site = Site::new(stringify!($name), Mode::Call);
            SITE.count();
            enter(&SITE, &String::new, &mut |_| Err(NOT_SUPPORTED))
        }
    )*};
}

unsupported! {
    cuArray3DCreate_v2; cuArray3DGetDescriptor_v2; cuArrayCreate_v2; cuArrayDestroy; cuArrayGetDescriptor_v2;
    cuArrayGetPlane; cuArrayGetSparseProperties; cuCtxAttach; cuCtxCreate_v3; cuCtxDetach; cuCtxGetExecAffinity;
    cuCtxGetSharedMemConfig; cuCtxResetPersistingL2Cache; cuCtxSetSharedMemConfig; cuDestroyExternalMemory;
    cuDestroyExternalSemaphore; cuDeviceGetByPCIBusId; cuDeviceGetExecAffinitySupport; cuDeviceGetGraphMemAttribute;
    cuDeviceGetLuid; cuDeviceGetNvSciSyncAttributes; cuDeviceGetProperties; cuDeviceGetTexture1DLinearMaxWidth;
    cuDeviceGraphMemTrim; cuDeviceSetGraphMemAttribute; cuExternalMemoryGetMappedBuffer;
    cuExternalMemoryGetMappedMipmappedArray; cuFlushGPUDirectRDMAWrites; cuFuncSetBlockShape; cuFuncSetSharedMemConfig;
    cuFuncSetSharedSize; cuGetExportTable; cuGetProcAddress; cuGraphAddChildGraphNode; cuGraphAddDependencies;
    cuGraphAddEmptyNode; cuGraphAddEventRecordNode; cuGraphAddEventWaitNode; cuGraphAddExternalSemaphoresSignalNode;
    cuGraphAddExternalSemaphoresWaitNode; cuGraphAddHostNode; cuGraphAddKernelNode; cuGraphAddMemAllocNode;
    cuGraphAddMemFreeNode; cuGraphAddMemcpyNode; cuGraphAddMemsetNode; cuGraphChildGraphNodeGetGraph; cuGraphClone;
    cuGraphCreate; cuGraphDebugDotPrint; cuGraphDestroy; cuGraphDestroyNode; cuGraphEventRecordNodeGetEvent;
    cuGraphEventRecordNodeSetEvent; cuGraphEventWaitNodeGetEvent; cuGraphEventWaitNodeSetEvent;
    cuGraphExecChildGraphNodeSetParams; cuGraphExecDestroy; cuGraphExecEventRecordNodeSetEvent;
    cuGraphExecEventWaitNodeSetEvent; cuGraphExecExternalSemaphoresSignalNodeSetParams;
    cuGraphExecExternalSemaphoresWaitNodeSetParams; cuGraphExecHostNodeSetParams; cuGraphExecKernelNodeSetParams;
    cuGraphExecMemcpyNodeSetParams; cuGraphExecMemsetNodeSetParams; cuGraphExecUpdate;
    cuGraphExternalSemaphoresSignalNodeGetParams; cuGraphExternalSemaphoresSignalNodeSetParams;
    cuGraphExternalSemaphoresWaitNodeGetParams; cuGraphExternalSemaphoresWaitNodeSetParams; cuGraphGetEdges;
    cuGraphGetNodes; cuGraphGetRootNodes; cuGraphHostNodeGetParams; cuGraphHostNodeSetParams;
    cuGraphInstantiateWithFlags; cuGraphInstantiate_v2; cuGraphKernelNodeCopyAttributes; cuGraphKernelNodeGetAttribute;
    cuGraphKernelNodeGetParams; cuGraphKernelNodeSetAttribute; cuGraphKernelNodeSetParams; cuGraphLaunch;
    cuGraphMemAllocNodeGetParams; cuGraphMemFreeNodeGetParams; cuGraphMemcpyNodeGetParams; cuGraphMemcpyNodeSetParams;
    cuGraphMemsetNodeGetParams; cuGraphMemsetNodeSetParams; cuGraphNodeFindInClone; cuGraphNodeGetDependencies;
    cuGraphNodeGetDependentNodes; cuGraphNodeGetType; cuGraphReleaseUserObject; cuGraphRemoveDependencies;
    cuGraphRetainUserObject; cuGraphUpload; cuGraphicsMapResources; cuGraphicsResourceGetMappedMipmappedArray;
    cuGraphicsResourceGetMappedPointer_v2; cuGraphicsResourceSetMapFlags_v2; cuGraphicsSubResourceGetMappedArray;
    cuGraphicsUnmapResources; cuGraphicsUnregisterResource; cuImportExternalMemory; cuImportExternalSemaphore;
    cuIpcCloseMemHandle; cuIpcGetEventHandle; cuIpcGetMemHandle; cuIpcOpenEventHandle; cuIpcOpenMemHandle_v2; cuLaunch;
    cuLaunchCooperativeKernelMultiDevice; cuLaunchGrid; cuLaunchGridAsync; cuLinkAddData_v2; cuLinkAddFile_v2;
    cuLinkComplete; cuLinkCreate_v2; cuLinkDestroy; cuMemAddressFree; cuMemAddressReserve; cuMemAdvise;
    cuMemAllocManaged; cuMemCreate; cuMemExportToShareableHandle; cuMemGetAccess; cuMemGetAllocationGranularity;
    cuMemGetAllocationPropertiesFromHandle; cuMemImportFromShareableHandle; cuMemMap; cuMemMapArrayAsync;
    cuMemPoolExportPointer; cuMemPoolExportToShareableHandle; cuMemPoolGetAccess; cuMemPoolImportFromShareableHandle;
    cuMemPoolImportPointer; cuMemPrefetchAsync; cuMemRangeGetAttribute; cuMemRangeGetAttributes; cuMemRelease;
    cuMemRetainAllocationHandle; cuMemSetAccess; cuMemUnmap; cuMemcpy2DAsync_v2; cuMemcpy2DUnaligned_v2; cuMemcpy2D_v2;
    cuMemcpy3DAsync_v2; cuMemcpy3DPeer; cuMemcpy3DPeerAsync; cuMemcpy3D_v2; cuMemcpyAtoA_v2; cuMemcpyAtoD_v2;
    cuMemcpyAtoHAsync_v2; cuMemcpyAtoH_v2; cuMemcpyDtoA_v2; cuMemcpyHtoAAsync_v2; cuMemcpyHtoA_v2; cuMemsetD2D16Async;
    cuMemsetD2D16_v2; cuMemsetD2D32Async; cuMemsetD2D32_v2; cuMemsetD2D8Async; cuMemsetD2D8_v2; cuMipmappedArrayCreate;
    cuMipmappedArrayDestroy; cuMipmappedArrayGetLevel; cuMipmappedArrayGetSparseProperties; cuModuleGetGlobal_v2;
    cuModuleGetSurfRef; cuModuleGetTexRef; cuModuleLoadFatBinary; cuOccupancyAvailableDynamicSMemPerBlock;
    cuOccupancyMaxPotentialBlockSizeWithFlags; cuParamSetSize; cuParamSetTexRef; cuParamSetf; cuParamSeti; cuParamSetv;
    cuPointerSetAttribute; cuProfilerInitialize; cuProfilerStart; cuProfilerStop; cuSignalExternalSemaphoresAsync;
    cuStreamAttachMemAsync; cuStreamBatchMemOp; cuStreamBeginCapture_v2; cuStreamCopyAttributes; cuStreamEndCapture;
    cuStreamGetAttribute; cuStreamGetCaptureInfo; cuStreamGetCaptureInfo_v2; cuStreamSetAttribute;
    cuStreamUpdateCaptureDependencies; cuStreamWaitValue32; cuStreamWaitValue64; cuStreamWriteValue32;
    cuStreamWriteValue64; cuSurfObjectCreate; cuSurfObjectDestroy; cuSurfObjectGetResourceDesc; cuSurfRefGetArray;
    cuSurfRefSetArray; cuTexObjectCreate; cuTexObjectDestroy; cuTexObjectGetResourceDesc;
    cuTexObjectGetResourceViewDesc; cuTexObjectGetTextureDesc; cuTexRefCreate; cuTexRefDestroy; cuTexRefGetAddressMode;
    cuTexRefGetAddress_v2; cuTexRefGetArray; cuTexRefGetBorderColor; cuTexRefGetFilterMode; cuTexRefGetFlags;
    cuTexRefGetFormat; cuTexRefGetMaxAnisotropy; cuTexRefGetMipmapFilterMode; cuTexRefGetMipmapLevelBias;
    cuTexRefGetMipmapLevelClamp; cuTexRefGetMipmappedArray; cuTexRefSetAddress2D_v3; cuTexRefSetAddressMode;
    cuTexRefSetAddress_v2; cuTexRefSetArray; cuTexRefSetBorderColor; cuTexRefSetFilterMode; cuTexRefSetFlags;
    cuTexRefSetFormat; cuTexRefSetMaxAnisotropy; cuTexRefSetMipmapFilterMode; cuTexRefSetMipmapLevelBias;
    cuTexRefSetMipmapLevelClamp; cuTexRefSetMipmappedArray; cuThreadExchangeStreamCaptureMode; cuUserObjectCreate;
    cuUserObjectRelease; cuUserObjectRetain; cuWaitExternalSemaphoresAsync;
}
