/* Written by gen_layout.py: structure layouts as the public nvidia-ml-py binding sees them. Do not edit. */
#ifndef FNVML_NVML_TYPES_H
#define FNVML_NVML_TYPES_H
#include <stddef.h>

typedef struct {
    char busId[16];
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    unsigned int reserved0;
    unsigned int reserved1;
    unsigned int reserved2;
    unsigned int reserved3;
} nvmlPciInfo_v2_t;
_Static_assert(sizeof(nvmlPciInfo_v2_t) == 52, "nvmlPciInfo_v2_t");
_Static_assert(offsetof(nvmlPciInfo_v2_t, busId) == 0, "nvmlPciInfo_v2_t.busId");
_Static_assert(offsetof(nvmlPciInfo_v2_t, domain) == 16, "nvmlPciInfo_v2_t.domain");
_Static_assert(offsetof(nvmlPciInfo_v2_t, bus) == 20, "nvmlPciInfo_v2_t.bus");
_Static_assert(offsetof(nvmlPciInfo_v2_t, device) == 24, "nvmlPciInfo_v2_t.device");
_Static_assert(offsetof(nvmlPciInfo_v2_t, pciDeviceId) == 28, "nvmlPciInfo_v2_t.pciDeviceId");
_Static_assert(offsetof(nvmlPciInfo_v2_t, pciSubSystemId) == 32, "nvmlPciInfo_v2_t.pciSubSystemId");
_Static_assert(offsetof(nvmlPciInfo_v2_t, reserved0) == 36, "nvmlPciInfo_v2_t.reserved0");
_Static_assert(offsetof(nvmlPciInfo_v2_t, reserved1) == 40, "nvmlPciInfo_v2_t.reserved1");
_Static_assert(offsetof(nvmlPciInfo_v2_t, reserved2) == 44, "nvmlPciInfo_v2_t.reserved2");
_Static_assert(offsetof(nvmlPciInfo_v2_t, reserved3) == 48, "nvmlPciInfo_v2_t.reserved3");

typedef struct {
    char busIdLegacy[16];
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "nvmlPciInfo_t");
_Static_assert(offsetof(nvmlPciInfo_t, busIdLegacy) == 0, "nvmlPciInfo_t.busIdLegacy");
_Static_assert(offsetof(nvmlPciInfo_t, domain) == 16, "nvmlPciInfo_t.domain");
_Static_assert(offsetof(nvmlPciInfo_t, bus) == 20, "nvmlPciInfo_t.bus");
_Static_assert(offsetof(nvmlPciInfo_t, device) == 24, "nvmlPciInfo_t.device");
_Static_assert(offsetof(nvmlPciInfo_t, pciDeviceId) == 28, "nvmlPciInfo_t.pciDeviceId");
_Static_assert(offsetof(nvmlPciInfo_t, pciSubSystemId) == 32, "nvmlPciInfo_t.pciSubSystemId");
_Static_assert(offsetof(nvmlPciInfo_t, busId) == 36, "nvmlPciInfo_t.busId");

typedef struct {
    unsigned int version;
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    unsigned int baseClass;
    unsigned int subClass;
    char busId[32];
} nvmlPciInfoExt_v1_t;
_Static_assert(sizeof(nvmlPciInfoExt_v1_t) == 64, "nvmlPciInfoExt_v1_t");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, version) == 0, "nvmlPciInfoExt_v1_t.version");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, domain) == 4, "nvmlPciInfoExt_v1_t.domain");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, bus) == 8, "nvmlPciInfoExt_v1_t.bus");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, device) == 12, "nvmlPciInfoExt_v1_t.device");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, pciDeviceId) == 16, "nvmlPciInfoExt_v1_t.pciDeviceId");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, pciSubSystemId) == 20, "nvmlPciInfoExt_v1_t.pciSubSystemId");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, baseClass) == 24, "nvmlPciInfoExt_v1_t.baseClass");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, subClass) == 28, "nvmlPciInfoExt_v1_t.subClass");
_Static_assert(offsetof(nvmlPciInfoExt_v1_t, busId) == 32, "nvmlPciInfoExt_v1_t.busId");

typedef struct {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_t;
_Static_assert(sizeof(nvmlMemory_t) == 24, "nvmlMemory_t");
_Static_assert(offsetof(nvmlMemory_t, total) == 0, "nvmlMemory_t.total");
_Static_assert(offsetof(nvmlMemory_t, free) == 8, "nvmlMemory_t.free");
_Static_assert(offsetof(nvmlMemory_t, used) == 16, "nvmlMemory_t.used");

typedef struct {
    unsigned int version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_v2_t;
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "nvmlMemory_v2_t");
_Static_assert(offsetof(nvmlMemory_v2_t, version) == 0, "nvmlMemory_v2_t.version");
_Static_assert(offsetof(nvmlMemory_v2_t, total) == 8, "nvmlMemory_v2_t.total");
_Static_assert(offsetof(nvmlMemory_v2_t, reserved) == 16, "nvmlMemory_v2_t.reserved");
_Static_assert(offsetof(nvmlMemory_v2_t, free) == 24, "nvmlMemory_v2_t.free");
_Static_assert(offsetof(nvmlMemory_v2_t, used) == 32, "nvmlMemory_v2_t.used");

typedef struct {
    unsigned long long bar1Total;
    unsigned long long bar1Free;
    unsigned long long bar1Used;
} nvmlBAR1Memory_t;
_Static_assert(sizeof(nvmlBAR1Memory_t) == 24, "nvmlBAR1Memory_t");
_Static_assert(offsetof(nvmlBAR1Memory_t, bar1Total) == 0, "nvmlBAR1Memory_t.bar1Total");
_Static_assert(offsetof(nvmlBAR1Memory_t, bar1Free) == 8, "nvmlBAR1Memory_t.bar1Free");
_Static_assert(offsetof(nvmlBAR1Memory_t, bar1Used) == 16, "nvmlBAR1Memory_t.bar1Used");

typedef struct {
    unsigned int gpu;
    unsigned int memory;
} nvmlUtilization_t;
_Static_assert(sizeof(nvmlUtilization_t) == 8, "nvmlUtilization_t");
_Static_assert(offsetof(nvmlUtilization_t, gpu) == 0, "nvmlUtilization_t.gpu");
_Static_assert(offsetof(nvmlUtilization_t, memory) == 4, "nvmlUtilization_t.memory");

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlProcessInfo_v2_t;
_Static_assert(sizeof(nvmlProcessInfo_v2_t) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(offsetof(nvmlProcessInfo_v2_t, pid) == 0, "nvmlProcessInfo_v2_t.pid");
_Static_assert(offsetof(nvmlProcessInfo_v2_t, usedGpuMemory) == 8, "nvmlProcessInfo_v2_t.usedGpuMemory");
_Static_assert(offsetof(nvmlProcessInfo_v2_t, gpuInstanceId) == 16, "nvmlProcessInfo_v2_t.gpuInstanceId");
_Static_assert(offsetof(nvmlProcessInfo_v2_t, computeInstanceId) == 20, "nvmlProcessInfo_v2_t.computeInstanceId");

typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
    unsigned long long usedGpuCcProtectedMemory;
} nvmlProcessDetail_v1_t;
_Static_assert(sizeof(nvmlProcessDetail_v1_t) == 32, "nvmlProcessDetail_v1_t");
_Static_assert(offsetof(nvmlProcessDetail_v1_t, pid) == 0, "nvmlProcessDetail_v1_t.pid");
_Static_assert(offsetof(nvmlProcessDetail_v1_t, usedGpuMemory) == 8, "nvmlProcessDetail_v1_t.usedGpuMemory");
_Static_assert(offsetof(nvmlProcessDetail_v1_t, gpuInstanceId) == 16, "nvmlProcessDetail_v1_t.gpuInstanceId");
_Static_assert(offsetof(nvmlProcessDetail_v1_t, computeInstanceId) == 20, "nvmlProcessDetail_v1_t.computeInstanceId");
_Static_assert(offsetof(nvmlProcessDetail_v1_t, usedGpuCcProtectedMemory) == 24, "nvmlProcessDetail_v1_t.usedGpuCcProtectedMemory");

typedef struct {
    unsigned int version;
    unsigned int mode;
    unsigned int numProcArrayEntries;
    void *procArray;
} nvmlProcessDetailList_v1_t;
_Static_assert(sizeof(nvmlProcessDetailList_v1_t) == 24, "nvmlProcessDetailList_v1_t");
_Static_assert(offsetof(nvmlProcessDetailList_v1_t, version) == 0, "nvmlProcessDetailList_v1_t.version");
_Static_assert(offsetof(nvmlProcessDetailList_v1_t, mode) == 4, "nvmlProcessDetailList_v1_t.mode");
_Static_assert(offsetof(nvmlProcessDetailList_v1_t, numProcArrayEntries) == 8, "nvmlProcessDetailList_v1_t.numProcArrayEntries");
_Static_assert(offsetof(nvmlProcessDetailList_v1_t, procArray) == 16, "nvmlProcessDetailList_v1_t.procArray");

typedef struct {
    void *device;
    unsigned long long eventType;
    unsigned long long eventData;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlEventData_t;
_Static_assert(sizeof(nvmlEventData_t) == 32, "nvmlEventData_t");
_Static_assert(offsetof(nvmlEventData_t, device) == 0, "nvmlEventData_t.device");
_Static_assert(offsetof(nvmlEventData_t, eventType) == 8, "nvmlEventData_t.eventType");
_Static_assert(offsetof(nvmlEventData_t, eventData) == 16, "nvmlEventData_t.eventData");
_Static_assert(offsetof(nvmlEventData_t, gpuInstanceId) == 24, "nvmlEventData_t.gpuInstanceId");
_Static_assert(offsetof(nvmlEventData_t, computeInstanceId) == 28, "nvmlEventData_t.computeInstanceId");

typedef struct {
    unsigned int multiprocessorCount;
    unsigned int sharedCopyEngineCount;
    unsigned int sharedDecoderCount;
    unsigned int sharedEncoderCount;
    unsigned int sharedJpegCount;
    unsigned int sharedOfaCount;
    unsigned int gpuInstanceSliceCount;
    unsigned int computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;
_Static_assert(sizeof(nvmlDeviceAttributes_t) == 40, "nvmlDeviceAttributes_t");
_Static_assert(offsetof(nvmlDeviceAttributes_t, multiprocessorCount) == 0, "nvmlDeviceAttributes_t.multiprocessorCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, sharedCopyEngineCount) == 4, "nvmlDeviceAttributes_t.sharedCopyEngineCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, sharedDecoderCount) == 8, "nvmlDeviceAttributes_t.sharedDecoderCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, sharedEncoderCount) == 12, "nvmlDeviceAttributes_t.sharedEncoderCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, sharedJpegCount) == 16, "nvmlDeviceAttributes_t.sharedJpegCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, sharedOfaCount) == 20, "nvmlDeviceAttributes_t.sharedOfaCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, gpuInstanceSliceCount) == 24, "nvmlDeviceAttributes_t.gpuInstanceSliceCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, computeInstanceSliceCount) == 28, "nvmlDeviceAttributes_t.computeInstanceSliceCount");
_Static_assert(offsetof(nvmlDeviceAttributes_t, memorySizeMB) == 32, "nvmlDeviceAttributes_t.memorySizeMB");

typedef struct {
    unsigned int start;
    unsigned int size;
} nvmlGpuInstancePlacement_t;
_Static_assert(sizeof(nvmlGpuInstancePlacement_t) == 8, "nvmlGpuInstancePlacement_t");
_Static_assert(offsetof(nvmlGpuInstancePlacement_t, start) == 0, "nvmlGpuInstancePlacement_t.start");
_Static_assert(offsetof(nvmlGpuInstancePlacement_t, size) == 4, "nvmlGpuInstancePlacement_t.size");

typedef struct {
    unsigned int id;
    unsigned int isP2pSupported;
    unsigned int sliceCount;
    unsigned int instanceCount;
    unsigned int multiprocessorCount;
    unsigned int copyEngineCount;
    unsigned int decoderCount;
    unsigned int encoderCount;
    unsigned int jpegCount;
    unsigned int ofaCount;
    unsigned long long memorySizeMB;
} nvmlGpuInstanceProfileInfo_t;
_Static_assert(sizeof(nvmlGpuInstanceProfileInfo_t) == 48, "nvmlGpuInstanceProfileInfo_t");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, id) == 0, "nvmlGpuInstanceProfileInfo_t.id");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, isP2pSupported) == 4, "nvmlGpuInstanceProfileInfo_t.isP2pSupported");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, sliceCount) == 8, "nvmlGpuInstanceProfileInfo_t.sliceCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, instanceCount) == 12, "nvmlGpuInstanceProfileInfo_t.instanceCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, multiprocessorCount) == 16, "nvmlGpuInstanceProfileInfo_t.multiprocessorCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, copyEngineCount) == 20, "nvmlGpuInstanceProfileInfo_t.copyEngineCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, decoderCount) == 24, "nvmlGpuInstanceProfileInfo_t.decoderCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, encoderCount) == 28, "nvmlGpuInstanceProfileInfo_t.encoderCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, jpegCount) == 32, "nvmlGpuInstanceProfileInfo_t.jpegCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, ofaCount) == 36, "nvmlGpuInstanceProfileInfo_t.ofaCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_t, memorySizeMB) == 40, "nvmlGpuInstanceProfileInfo_t.memorySizeMB");

typedef struct {
    unsigned int version;
    unsigned int id;
    unsigned int isP2pSupported;
    unsigned int sliceCount;
    unsigned int instanceCount;
    unsigned int multiprocessorCount;
    unsigned int copyEngineCount;
    unsigned int decoderCount;
    unsigned int encoderCount;
    unsigned int jpegCount;
    unsigned int ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
} nvmlGpuInstanceProfileInfo_v2_t;
_Static_assert(sizeof(nvmlGpuInstanceProfileInfo_v2_t) == 152, "nvmlGpuInstanceProfileInfo_v2_t");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, version) == 0, "nvmlGpuInstanceProfileInfo_v2_t.version");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, id) == 4, "nvmlGpuInstanceProfileInfo_v2_t.id");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, isP2pSupported) == 8, "nvmlGpuInstanceProfileInfo_v2_t.isP2pSupported");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, sliceCount) == 12, "nvmlGpuInstanceProfileInfo_v2_t.sliceCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, instanceCount) == 16, "nvmlGpuInstanceProfileInfo_v2_t.instanceCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, multiprocessorCount) == 20, "nvmlGpuInstanceProfileInfo_v2_t.multiprocessorCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, copyEngineCount) == 24, "nvmlGpuInstanceProfileInfo_v2_t.copyEngineCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, decoderCount) == 28, "nvmlGpuInstanceProfileInfo_v2_t.decoderCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, encoderCount) == 32, "nvmlGpuInstanceProfileInfo_v2_t.encoderCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, jpegCount) == 36, "nvmlGpuInstanceProfileInfo_v2_t.jpegCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, ofaCount) == 40, "nvmlGpuInstanceProfileInfo_v2_t.ofaCount");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB) == 48, "nvmlGpuInstanceProfileInfo_v2_t.memorySizeMB");
_Static_assert(offsetof(nvmlGpuInstanceProfileInfo_v2_t, name) == 56, "nvmlGpuInstanceProfileInfo_v2_t.name");

typedef struct {
    void *device;
    unsigned int id;
    unsigned int profileId;
    nvmlGpuInstancePlacement_t placement;
} nvmlGpuInstanceInfo_t;
_Static_assert(sizeof(nvmlGpuInstanceInfo_t) == 24, "nvmlGpuInstanceInfo_t");
_Static_assert(offsetof(nvmlGpuInstanceInfo_t, device) == 0, "nvmlGpuInstanceInfo_t.device");
_Static_assert(offsetof(nvmlGpuInstanceInfo_t, id) == 8, "nvmlGpuInstanceInfo_t.id");
_Static_assert(offsetof(nvmlGpuInstanceInfo_t, profileId) == 12, "nvmlGpuInstanceInfo_t.profileId");
_Static_assert(offsetof(nvmlGpuInstanceInfo_t, placement) == 16, "nvmlGpuInstanceInfo_t.placement");

typedef struct {
    unsigned int start;
    unsigned int size;
} nvmlComputeInstancePlacement_t;
_Static_assert(sizeof(nvmlComputeInstancePlacement_t) == 8, "nvmlComputeInstancePlacement_t");
_Static_assert(offsetof(nvmlComputeInstancePlacement_t, start) == 0, "nvmlComputeInstancePlacement_t.start");
_Static_assert(offsetof(nvmlComputeInstancePlacement_t, size) == 4, "nvmlComputeInstancePlacement_t.size");

typedef struct {
    unsigned int id;
    unsigned int sliceCount;
    unsigned int instanceCount;
    unsigned int multiprocessorCount;
    unsigned int sharedCopyEngineCount;
    unsigned int sharedDecoderCount;
    unsigned int sharedEncoderCount;
    unsigned int sharedJpegCount;
    unsigned int sharedOfaCount;
} nvmlComputeInstanceProfileInfo_t;
_Static_assert(sizeof(nvmlComputeInstanceProfileInfo_t) == 36, "nvmlComputeInstanceProfileInfo_t");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, id) == 0, "nvmlComputeInstanceProfileInfo_t.id");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, sliceCount) == 4, "nvmlComputeInstanceProfileInfo_t.sliceCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, instanceCount) == 8, "nvmlComputeInstanceProfileInfo_t.instanceCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, multiprocessorCount) == 12, "nvmlComputeInstanceProfileInfo_t.multiprocessorCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, sharedCopyEngineCount) == 16, "nvmlComputeInstanceProfileInfo_t.sharedCopyEngineCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, sharedDecoderCount) == 20, "nvmlComputeInstanceProfileInfo_t.sharedDecoderCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, sharedEncoderCount) == 24, "nvmlComputeInstanceProfileInfo_t.sharedEncoderCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, sharedJpegCount) == 28, "nvmlComputeInstanceProfileInfo_t.sharedJpegCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_t, sharedOfaCount) == 32, "nvmlComputeInstanceProfileInfo_t.sharedOfaCount");

typedef struct {
    unsigned int version;
    unsigned int id;
    unsigned int sliceCount;
    unsigned int instanceCount;
    unsigned int multiprocessorCount;
    unsigned int sharedCopyEngineCount;
    unsigned int sharedDecoderCount;
    unsigned int sharedEncoderCount;
    unsigned int sharedJpegCount;
    unsigned int sharedOfaCount;
    char name[96];
} nvmlComputeInstanceProfileInfo_v2_t;
_Static_assert(sizeof(nvmlComputeInstanceProfileInfo_v2_t) == 136, "nvmlComputeInstanceProfileInfo_v2_t");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, version) == 0, "nvmlComputeInstanceProfileInfo_v2_t.version");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, id) == 4, "nvmlComputeInstanceProfileInfo_v2_t.id");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, sliceCount) == 8, "nvmlComputeInstanceProfileInfo_v2_t.sliceCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, instanceCount) == 12, "nvmlComputeInstanceProfileInfo_v2_t.instanceCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, multiprocessorCount) == 16, "nvmlComputeInstanceProfileInfo_v2_t.multiprocessorCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, sharedCopyEngineCount) == 20, "nvmlComputeInstanceProfileInfo_v2_t.sharedCopyEngineCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, sharedDecoderCount) == 24, "nvmlComputeInstanceProfileInfo_v2_t.sharedDecoderCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, sharedEncoderCount) == 28, "nvmlComputeInstanceProfileInfo_v2_t.sharedEncoderCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, sharedJpegCount) == 32, "nvmlComputeInstanceProfileInfo_v2_t.sharedJpegCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, sharedOfaCount) == 36, "nvmlComputeInstanceProfileInfo_v2_t.sharedOfaCount");
_Static_assert(offsetof(nvmlComputeInstanceProfileInfo_v2_t, name) == 40, "nvmlComputeInstanceProfileInfo_v2_t.name");

typedef struct {
    void *device;
    void *gpuInstance;
    unsigned int id;
    unsigned int profileId;
    nvmlComputeInstancePlacement_t placement;
} nvmlComputeInstanceInfo_t;
_Static_assert(sizeof(nvmlComputeInstanceInfo_t) == 32, "nvmlComputeInstanceInfo_t");
_Static_assert(offsetof(nvmlComputeInstanceInfo_t, device) == 0, "nvmlComputeInstanceInfo_t.device");
_Static_assert(offsetof(nvmlComputeInstanceInfo_t, gpuInstance) == 8, "nvmlComputeInstanceInfo_t.gpuInstance");
_Static_assert(offsetof(nvmlComputeInstanceInfo_t, id) == 16, "nvmlComputeInstanceInfo_t.id");
_Static_assert(offsetof(nvmlComputeInstanceInfo_t, profileId) == 20, "nvmlComputeInstanceInfo_t.profileId");
_Static_assert(offsetof(nvmlComputeInstanceInfo_t, placement) == 24, "nvmlComputeInstanceInfo_t.placement");

typedef struct {
    unsigned char clusterUuid[16];
    unsigned int status;
    unsigned int cliqueId;
    unsigned int state;
} nvmlGpuFabricInfo_t;
_Static_assert(sizeof(nvmlGpuFabricInfo_t) == 28, "nvmlGpuFabricInfo_t");
_Static_assert(offsetof(nvmlGpuFabricInfo_t, clusterUuid) == 0, "nvmlGpuFabricInfo_t.clusterUuid");
_Static_assert(offsetof(nvmlGpuFabricInfo_t, status) == 16, "nvmlGpuFabricInfo_t.status");
_Static_assert(offsetof(nvmlGpuFabricInfo_t, cliqueId) == 20, "nvmlGpuFabricInfo_t.cliqueId");
_Static_assert(offsetof(nvmlGpuFabricInfo_t, state) == 24, "nvmlGpuFabricInfo_t.state");

typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    unsigned int status;
    unsigned int cliqueId;
    unsigned int state;
    unsigned int healthMask;
} nvmlGpuFabricInfo_v2_t;
_Static_assert(sizeof(nvmlGpuFabricInfo_v2_t) == 36, "nvmlGpuFabricInfo_v2_t");
_Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, version) == 0, "nvmlGpuFabricInfo_v2_t.version");
_Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, clusterUuid) == 4, "nvmlGpuFabricInfo_v2_t.clusterUuid");
_Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, status) == 20, "nvmlGpuFabricInfo_v2_t.status");
_Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, cliqueId) == 24, "nvmlGpuFabricInfo_v2_t.cliqueId");
_Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, state) == 28, "nvmlGpuFabricInfo_v2_t.state");
_Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, healthMask) == 32, "nvmlGpuFabricInfo_v2_t.healthMask");

typedef struct {
    unsigned int version;
    unsigned char clusterUuid[16];
    unsigned int status;
    unsigned int cliqueId;
    unsigned int state;
    unsigned int healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;
_Static_assert(sizeof(nvmlGpuFabricInfo_v3_t) == 40, "nvmlGpuFabricInfo_v3_t");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, version) == 0, "nvmlGpuFabricInfo_v3_t.version");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, clusterUuid) == 4, "nvmlGpuFabricInfo_v3_t.clusterUuid");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, status) == 20, "nvmlGpuFabricInfo_v3_t.status");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, cliqueId) == 24, "nvmlGpuFabricInfo_v3_t.cliqueId");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, state) == 28, "nvmlGpuFabricInfo_v3_t.state");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, healthMask) == 32, "nvmlGpuFabricInfo_v3_t.healthMask");
_Static_assert(offsetof(nvmlGpuFabricInfo_v3_t, healthSummary) == 36, "nvmlGpuFabricInfo_v3_t.healthSummary");

typedef union {
    double dVal;
    unsigned int uiVal;
    unsigned long long ulVal;
    unsigned long long ullVal;
    long long sllVal;
    int siVal;
    unsigned short usVal;
} nvmlFieldValue_t_value;
_Static_assert(sizeof(nvmlFieldValue_t_value) == 8, "nvmlFieldValue_t_value");
_Static_assert(offsetof(nvmlFieldValue_t_value, dVal) == 0, "nvmlFieldValue_t_value.dVal");
_Static_assert(offsetof(nvmlFieldValue_t_value, uiVal) == 0, "nvmlFieldValue_t_value.uiVal");
_Static_assert(offsetof(nvmlFieldValue_t_value, ulVal) == 0, "nvmlFieldValue_t_value.ulVal");
_Static_assert(offsetof(nvmlFieldValue_t_value, ullVal) == 0, "nvmlFieldValue_t_value.ullVal");
_Static_assert(offsetof(nvmlFieldValue_t_value, sllVal) == 0, "nvmlFieldValue_t_value.sllVal");
_Static_assert(offsetof(nvmlFieldValue_t_value, siVal) == 0, "nvmlFieldValue_t_value.siVal");
_Static_assert(offsetof(nvmlFieldValue_t_value, usVal) == 0, "nvmlFieldValue_t_value.usVal");

typedef struct {
    unsigned int fieldId;
    unsigned int scopeId;
    long long timestamp;
    long long latencyUsec;
    unsigned int valueType;
    unsigned int nvmlReturn;
    nvmlFieldValue_t_value value;
} nvmlFieldValue_t;
_Static_assert(sizeof(nvmlFieldValue_t) == 40, "nvmlFieldValue_t");
_Static_assert(offsetof(nvmlFieldValue_t, fieldId) == 0, "nvmlFieldValue_t.fieldId");
_Static_assert(offsetof(nvmlFieldValue_t, scopeId) == 4, "nvmlFieldValue_t.scopeId");
_Static_assert(offsetof(nvmlFieldValue_t, timestamp) == 8, "nvmlFieldValue_t.timestamp");
_Static_assert(offsetof(nvmlFieldValue_t, latencyUsec) == 16, "nvmlFieldValue_t.latencyUsec");
_Static_assert(offsetof(nvmlFieldValue_t, valueType) == 24, "nvmlFieldValue_t.valueType");
_Static_assert(offsetof(nvmlFieldValue_t, nvmlReturn) == 28, "nvmlFieldValue_t.nvmlReturn");
_Static_assert(offsetof(nvmlFieldValue_t, value) == 32, "nvmlFieldValue_t.value");

typedef struct {
    unsigned long long referenceTime;
    unsigned long long violationTime;
} nvmlViolationTime_t;
_Static_assert(sizeof(nvmlViolationTime_t) == 16, "nvmlViolationTime_t");
_Static_assert(offsetof(nvmlViolationTime_t, referenceTime) == 0, "nvmlViolationTime_t.referenceTime");
_Static_assert(offsetof(nvmlViolationTime_t, violationTime) == 8, "nvmlViolationTime_t.violationTime");

typedef struct {
    unsigned int max;
    unsigned int high;
    unsigned int partial;
    unsigned int low;
    unsigned int none;
} nvmlRowRemapperHistogramValues_t;
_Static_assert(sizeof(nvmlRowRemapperHistogramValues_t) == 20, "nvmlRowRemapperHistogramValues_t");
_Static_assert(offsetof(nvmlRowRemapperHistogramValues_t, max) == 0, "nvmlRowRemapperHistogramValues_t.max");
_Static_assert(offsetof(nvmlRowRemapperHistogramValues_t, high) == 4, "nvmlRowRemapperHistogramValues_t.high");
_Static_assert(offsetof(nvmlRowRemapperHistogramValues_t, partial) == 8, "nvmlRowRemapperHistogramValues_t.partial");
_Static_assert(offsetof(nvmlRowRemapperHistogramValues_t, low) == 12, "nvmlRowRemapperHistogramValues_t.low");
_Static_assert(offsetof(nvmlRowRemapperHistogramValues_t, none) == 16, "nvmlRowRemapperHistogramValues_t.none");

typedef struct {
    unsigned int bIsPresent : 1;
    unsigned int percentage;
    unsigned int incThreshold;
    unsigned int decThreshold;
} nvmlGpuDynamicPstatesInfo_t_utilization;
_Static_assert(sizeof(nvmlGpuDynamicPstatesInfo_t_utilization) == 16, "nvmlGpuDynamicPstatesInfo_t_utilization");
_Static_assert(offsetof(nvmlGpuDynamicPstatesInfo_t_utilization, percentage) == 4, "nvmlGpuDynamicPstatesInfo_t_utilization.percentage");
_Static_assert(offsetof(nvmlGpuDynamicPstatesInfo_t_utilization, incThreshold) == 8, "nvmlGpuDynamicPstatesInfo_t_utilization.incThreshold");
_Static_assert(offsetof(nvmlGpuDynamicPstatesInfo_t_utilization, decThreshold) == 12, "nvmlGpuDynamicPstatesInfo_t_utilization.decThreshold");

typedef struct {
    unsigned int flags;
    nvmlGpuDynamicPstatesInfo_t_utilization utilization[8];
} nvmlGpuDynamicPstatesInfo_t;
_Static_assert(sizeof(nvmlGpuDynamicPstatesInfo_t) == 132, "nvmlGpuDynamicPstatesInfo_t");
_Static_assert(offsetof(nvmlGpuDynamicPstatesInfo_t, flags) == 0, "nvmlGpuDynamicPstatesInfo_t.flags");
_Static_assert(offsetof(nvmlGpuDynamicPstatesInfo_t, utilization) == 4, "nvmlGpuDynamicPstatesInfo_t.utilization");

typedef struct {
    unsigned int version;
    unsigned int sensorType;
    int temperature;
} nvmlTemperature_v1_t;
_Static_assert(sizeof(nvmlTemperature_v1_t) == 12, "nvmlTemperature_v1_t");
_Static_assert(offsetof(nvmlTemperature_v1_t, version) == 0, "nvmlTemperature_v1_t.version");
_Static_assert(offsetof(nvmlTemperature_v1_t, sensorType) == 4, "nvmlTemperature_v1_t.sensorType");
_Static_assert(offsetof(nvmlTemperature_v1_t, temperature) == 8, "nvmlTemperature_v1_t.temperature");

typedef struct {
    unsigned int version;
    int marginTemperature;
} nvmlMarginTemperature_v1_t;
_Static_assert(sizeof(nvmlMarginTemperature_v1_t) == 8, "nvmlMarginTemperature_v1_t");
_Static_assert(offsetof(nvmlMarginTemperature_v1_t, version) == 0, "nvmlMarginTemperature_v1_t.version");
_Static_assert(offsetof(nvmlMarginTemperature_v1_t, marginTemperature) == 4, "nvmlMarginTemperature_v1_t.marginTemperature");

typedef struct {
    unsigned int version;
    unsigned long long value;
} nvmlPdi_t;
_Static_assert(sizeof(nvmlPdi_t) == 16, "nvmlPdi_t");
_Static_assert(offsetof(nvmlPdi_t, version) == 0, "nvmlPdi_t.version");
_Static_assert(offsetof(nvmlPdi_t, value) == 8, "nvmlPdi_t.value");

typedef struct {
    unsigned int version;
    unsigned int bChannelRepairPending;
    unsigned int bTpcRepairPending;
} nvmlRepairStatus_t;
_Static_assert(sizeof(nvmlRepairStatus_t) == 12, "nvmlRepairStatus_t");
_Static_assert(offsetof(nvmlRepairStatus_t, version) == 0, "nvmlRepairStatus_t.version");
_Static_assert(offsetof(nvmlRepairStatus_t, bChannelRepairPending) == 4, "nvmlRepairStatus_t.bChannelRepairPending");
_Static_assert(offsetof(nvmlRepairStatus_t, bTpcRepairPending) == 8, "nvmlRepairStatus_t.bTpcRepairPending");

typedef struct {
    unsigned int version;
    unsigned int value;
} nvmlDeviceAddressingMode_t;
_Static_assert(sizeof(nvmlDeviceAddressingMode_t) == 8, "nvmlDeviceAddressingMode_t");
_Static_assert(offsetof(nvmlDeviceAddressingMode_t, version) == 0, "nvmlDeviceAddressingMode_t.version");
_Static_assert(offsetof(nvmlDeviceAddressingMode_t, value) == 4, "nvmlDeviceAddressingMode_t.value");

typedef struct {
    unsigned int version;
    unsigned int unrepairableMemory;
} nvmlUnrepairableMemoryStatus_v1_t;
_Static_assert(sizeof(nvmlUnrepairableMemoryStatus_v1_t) == 8, "nvmlUnrepairableMemoryStatus_v1_t");
_Static_assert(offsetof(nvmlUnrepairableMemoryStatus_v1_t, version) == 0, "nvmlUnrepairableMemoryStatus_v1_t.version");
_Static_assert(offsetof(nvmlUnrepairableMemoryStatus_v1_t, unrepairableMemory) == 4, "nvmlUnrepairableMemoryStatus_v1_t.unrepairableMemory");

typedef struct {
    unsigned int isC2cEnabled;
} nvmlC2cModeInfo_v1_t;
_Static_assert(sizeof(nvmlC2cModeInfo_v1_t) == 4, "nvmlC2cModeInfo_v1_t");
_Static_assert(offsetof(nvmlC2cModeInfo_v1_t, isC2cEnabled) == 0, "nvmlC2cModeInfo_v1_t.isC2cEnabled");

typedef struct {
    unsigned int version;
    char branch[80];
} nvmlSystemDriverBranchInfo_v1_t;
_Static_assert(sizeof(nvmlSystemDriverBranchInfo_v1_t) == 84, "nvmlSystemDriverBranchInfo_v1_t");
_Static_assert(offsetof(nvmlSystemDriverBranchInfo_v1_t, version) == 0, "nvmlSystemDriverBranchInfo_v1_t.version");
_Static_assert(offsetof(nvmlSystemDriverBranchInfo_v1_t, branch) == 4, "nvmlSystemDriverBranchInfo_v1_t.branch");

typedef struct {
    unsigned int version;
    unsigned int capMask;
} nvmlDeviceCapabilities_v1_t;
_Static_assert(sizeof(nvmlDeviceCapabilities_v1_t) == 8, "nvmlDeviceCapabilities_v1_t");
_Static_assert(offsetof(nvmlDeviceCapabilities_v1_t, version) == 0, "nvmlDeviceCapabilities_v1_t.version");
_Static_assert(offsetof(nvmlDeviceCapabilities_v1_t, capMask) == 4, "nvmlDeviceCapabilities_v1_t.capMask");

typedef struct {
    unsigned int version;
    unsigned long long aggregateUncParity;
    unsigned long long aggregateUncSecDed;
    unsigned long long aggregateCor;
    unsigned long long volatileUncParity;
    unsigned long long volatileUncSecDed;
    unsigned long long volatileCor;
    unsigned long long aggregateUncBucketL2;
    unsigned long long aggregateUncBucketSm;
    unsigned long long aggregateUncBucketPcie;
    unsigned long long aggregateUncBucketMcu;
    unsigned long long aggregateUncBucketOther;
    unsigned int bThresholdExceeded;
} nvmlEccSramErrorStatus_v1_t;
_Static_assert(sizeof(nvmlEccSramErrorStatus_v1_t) == 104, "nvmlEccSramErrorStatus_v1_t");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, version) == 0, "nvmlEccSramErrorStatus_v1_t.version");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncParity) == 8, "nvmlEccSramErrorStatus_v1_t.aggregateUncParity");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncSecDed) == 16, "nvmlEccSramErrorStatus_v1_t.aggregateUncSecDed");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateCor) == 24, "nvmlEccSramErrorStatus_v1_t.aggregateCor");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, volatileUncParity) == 32, "nvmlEccSramErrorStatus_v1_t.volatileUncParity");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, volatileUncSecDed) == 40, "nvmlEccSramErrorStatus_v1_t.volatileUncSecDed");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, volatileCor) == 48, "nvmlEccSramErrorStatus_v1_t.volatileCor");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncBucketL2) == 56, "nvmlEccSramErrorStatus_v1_t.aggregateUncBucketL2");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncBucketSm) == 64, "nvmlEccSramErrorStatus_v1_t.aggregateUncBucketSm");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncBucketPcie) == 72, "nvmlEccSramErrorStatus_v1_t.aggregateUncBucketPcie");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncBucketMcu) == 80, "nvmlEccSramErrorStatus_v1_t.aggregateUncBucketMcu");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, aggregateUncBucketOther) == 88, "nvmlEccSramErrorStatus_v1_t.aggregateUncBucketOther");
_Static_assert(offsetof(nvmlEccSramErrorStatus_v1_t, bThresholdExceeded) == 96, "nvmlEccSramErrorStatus_v1_t.bThresholdExceeded");

typedef struct {
    unsigned int version;
    char str[2048];
} nvmlDeviceClockText_v1_t;
_Static_assert(sizeof(nvmlDeviceClockText_v1_t) == 2052, "nvmlDeviceClockText_v1_t");
_Static_assert(offsetof(nvmlDeviceClockText_v1_t, version) == 0, "nvmlDeviceClockText_v1_t.version");
_Static_assert(offsetof(nvmlDeviceClockText_v1_t, str) == 4, "nvmlDeviceClockText_v1_t.str");

typedef struct {
    unsigned int environment;
    unsigned int ccFeature;
    unsigned int devToolsMode;
} nvmlConfComputeSystemState_t;
_Static_assert(sizeof(nvmlConfComputeSystemState_t) == 12, "nvmlConfComputeSystemState_t");
_Static_assert(offsetof(nvmlConfComputeSystemState_t, environment) == 0, "nvmlConfComputeSystemState_t.environment");
_Static_assert(offsetof(nvmlConfComputeSystemState_t, ccFeature) == 4, "nvmlConfComputeSystemState_t.ccFeature");
_Static_assert(offsetof(nvmlConfComputeSystemState_t, devToolsMode) == 8, "nvmlConfComputeSystemState_t.devToolsMode");

typedef struct {
    unsigned int cpuCaps;
    unsigned int gpusCaps;
} nvmlConfComputeSystemCaps_t;
_Static_assert(sizeof(nvmlConfComputeSystemCaps_t) == 8, "nvmlConfComputeSystemCaps_t");
_Static_assert(offsetof(nvmlConfComputeSystemCaps_t, cpuCaps) == 0, "nvmlConfComputeSystemCaps_t.cpuCaps");
_Static_assert(offsetof(nvmlConfComputeSystemCaps_t, gpusCaps) == 4, "nvmlConfComputeSystemCaps_t.gpusCaps");

typedef struct {
    unsigned long long protectedMemSizeKib;
    unsigned long long unprotectedMemSizeKib;
} nvmlConfComputeMemSizeInfo_t;
_Static_assert(sizeof(nvmlConfComputeMemSizeInfo_t) == 16, "nvmlConfComputeMemSizeInfo_t");
_Static_assert(offsetof(nvmlConfComputeMemSizeInfo_t, protectedMemSizeKib) == 0, "nvmlConfComputeMemSizeInfo_t.protectedMemSizeKib");
_Static_assert(offsetof(nvmlConfComputeMemSizeInfo_t, unprotectedMemSizeKib) == 8, "nvmlConfComputeMemSizeInfo_t.unprotectedMemSizeKib");

typedef struct {
    unsigned int version;
    unsigned long long attackerAdvantage;
} nvmlConfComputeGetKeyRotationThresholdInfo_t;
_Static_assert(sizeof(nvmlConfComputeGetKeyRotationThresholdInfo_t) == 16, "nvmlConfComputeGetKeyRotationThresholdInfo_t");
_Static_assert(offsetof(nvmlConfComputeGetKeyRotationThresholdInfo_t, version) == 0, "nvmlConfComputeGetKeyRotationThresholdInfo_t.version");
_Static_assert(offsetof(nvmlConfComputeGetKeyRotationThresholdInfo_t, attackerAdvantage) == 8, "nvmlConfComputeGetKeyRotationThresholdInfo_t.attackerAdvantage");

typedef struct {
    unsigned int sessionsCount;
    unsigned int averageFPS;
    unsigned int averageLatency;
} nvmlFBCStats_t;
_Static_assert(sizeof(nvmlFBCStats_t) == 12, "nvmlFBCStats_t");
_Static_assert(offsetof(nvmlFBCStats_t, sessionsCount) == 0, "nvmlFBCStats_t.sessionsCount");
_Static_assert(offsetof(nvmlFBCStats_t, averageFPS) == 4, "nvmlFBCStats_t.averageFPS");
_Static_assert(offsetof(nvmlFBCStats_t, averageLatency) == 8, "nvmlFBCStats_t.averageLatency");

typedef struct {
    unsigned int version;
    unsigned int fan;
    unsigned int speed;
} nvmlFanSpeedInfo_t;
_Static_assert(sizeof(nvmlFanSpeedInfo_t) == 12, "nvmlFanSpeedInfo_t");
_Static_assert(offsetof(nvmlFanSpeedInfo_t, version) == 0, "nvmlFanSpeedInfo_t.version");
_Static_assert(offsetof(nvmlFanSpeedInfo_t, fan) == 4, "nvmlFanSpeedInfo_t.fan");
_Static_assert(offsetof(nvmlFanSpeedInfo_t, speed) == 8, "nvmlFanSpeedInfo_t.speed");

typedef struct {
    unsigned int corrActiveRemaps;
    unsigned int corrInactiveRemaps;
    unsigned int uncActiveRemaps;
    unsigned int uncInactiveRemaps;
    unsigned int bPending;
    unsigned int bfailureOccurred;
} nvmlRemappedRowsInfo_v2_t;
_Static_assert(sizeof(nvmlRemappedRowsInfo_v2_t) == 24, "nvmlRemappedRowsInfo_v2_t");
_Static_assert(offsetof(nvmlRemappedRowsInfo_v2_t, corrActiveRemaps) == 0, "nvmlRemappedRowsInfo_v2_t.corrActiveRemaps");
_Static_assert(offsetof(nvmlRemappedRowsInfo_v2_t, corrInactiveRemaps) == 4, "nvmlRemappedRowsInfo_v2_t.corrInactiveRemaps");
_Static_assert(offsetof(nvmlRemappedRowsInfo_v2_t, uncActiveRemaps) == 8, "nvmlRemappedRowsInfo_v2_t.uncActiveRemaps");
_Static_assert(offsetof(nvmlRemappedRowsInfo_v2_t, uncInactiveRemaps) == 12, "nvmlRemappedRowsInfo_v2_t.uncInactiveRemaps");
_Static_assert(offsetof(nvmlRemappedRowsInfo_v2_t, bPending) == 16, "nvmlRemappedRowsInfo_v2_t.bPending");
_Static_assert(offsetof(nvmlRemappedRowsInfo_v2_t, bfailureOccurred) == 20, "nvmlRemappedRowsInfo_v2_t.bfailureOccurred");

typedef union {
    char str[41];
    unsigned char bytes[16];
} nvmlUUID_t_value;
_Static_assert(sizeof(nvmlUUID_t_value) == 41, "nvmlUUID_t_value");
_Static_assert(offsetof(nvmlUUID_t_value, str) == 0, "nvmlUUID_t_value.str");
_Static_assert(offsetof(nvmlUUID_t_value, bytes) == 0, "nvmlUUID_t_value.bytes");

typedef struct {
    unsigned int version;
    unsigned int type;
    nvmlUUID_t_value value;
} nvmlUUID_t;
_Static_assert(sizeof(nvmlUUID_t) == 52, "nvmlUUID_t");
_Static_assert(offsetof(nvmlUUID_t, version) == 0, "nvmlUUID_t.version");
_Static_assert(offsetof(nvmlUUID_t, type) == 4, "nvmlUUID_t.type");
_Static_assert(offsetof(nvmlUUID_t, value) == 8, "nvmlUUID_t.value");

typedef struct {
    unsigned long long timeStamp;
    nvmlFieldValue_t_value sampleValue;
} nvmlSample_t;
_Static_assert(sizeof(nvmlSample_t) == 16, "nvmlSample_t");
_Static_assert(offsetof(nvmlSample_t, timeStamp) == 0, "nvmlSample_t.timeStamp");
_Static_assert(offsetof(nvmlSample_t, sampleValue) == 8, "nvmlSample_t.sampleValue");

typedef struct {
    unsigned int pid;
    unsigned long long timeStamp;
    unsigned int smUtil;
    unsigned int memUtil;
    unsigned int encUtil;
    unsigned int decUtil;
} nvmlProcessUtilizationSample_t;
_Static_assert(sizeof(nvmlProcessUtilizationSample_t) == 32, "nvmlProcessUtilizationSample_t");
_Static_assert(offsetof(nvmlProcessUtilizationSample_t, pid) == 0, "nvmlProcessUtilizationSample_t.pid");
_Static_assert(offsetof(nvmlProcessUtilizationSample_t, timeStamp) == 8, "nvmlProcessUtilizationSample_t.timeStamp");
_Static_assert(offsetof(nvmlProcessUtilizationSample_t, smUtil) == 16, "nvmlProcessUtilizationSample_t.smUtil");
_Static_assert(offsetof(nvmlProcessUtilizationSample_t, memUtil) == 20, "nvmlProcessUtilizationSample_t.memUtil");
_Static_assert(offsetof(nvmlProcessUtilizationSample_t, encUtil) == 24, "nvmlProcessUtilizationSample_t.encUtil");
_Static_assert(offsetof(nvmlProcessUtilizationSample_t, decUtil) == 28, "nvmlProcessUtilizationSample_t.decUtil");

typedef struct {
    unsigned long long timeStamp;
    unsigned int pid;
    unsigned int smUtil;
    unsigned int memUtil;
    unsigned int encUtil;
    unsigned int decUtil;
    unsigned int jpgUtil;
    unsigned int ofaUtil;
} nvmlProcessUtilizationInfo_v1_t;
_Static_assert(sizeof(nvmlProcessUtilizationInfo_v1_t) == 40, "nvmlProcessUtilizationInfo_v1_t");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, timeStamp) == 0, "nvmlProcessUtilizationInfo_v1_t.timeStamp");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, pid) == 8, "nvmlProcessUtilizationInfo_v1_t.pid");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, smUtil) == 12, "nvmlProcessUtilizationInfo_v1_t.smUtil");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, memUtil) == 16, "nvmlProcessUtilizationInfo_v1_t.memUtil");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, encUtil) == 20, "nvmlProcessUtilizationInfo_v1_t.encUtil");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, decUtil) == 24, "nvmlProcessUtilizationInfo_v1_t.decUtil");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, jpgUtil) == 28, "nvmlProcessUtilizationInfo_v1_t.jpgUtil");
_Static_assert(offsetof(nvmlProcessUtilizationInfo_v1_t, ofaUtil) == 32, "nvmlProcessUtilizationInfo_v1_t.ofaUtil");

typedef struct {
    unsigned int version;
    unsigned int processSamplesCount;
    unsigned long long lastSeenTimeStamp;
    void *procUtilArray;
} nvmlProcessesUtilizationInfo_v1_t;
_Static_assert(sizeof(nvmlProcessesUtilizationInfo_v1_t) == 24, "nvmlProcessesUtilizationInfo_v1_t");
_Static_assert(offsetof(nvmlProcessesUtilizationInfo_v1_t, version) == 0, "nvmlProcessesUtilizationInfo_v1_t.version");
_Static_assert(offsetof(nvmlProcessesUtilizationInfo_v1_t, processSamplesCount) == 4, "nvmlProcessesUtilizationInfo_v1_t.processSamplesCount");
_Static_assert(offsetof(nvmlProcessesUtilizationInfo_v1_t, lastSeenTimeStamp) == 8, "nvmlProcessesUtilizationInfo_v1_t.lastSeenTimeStamp");
_Static_assert(offsetof(nvmlProcessesUtilizationInfo_v1_t, procUtilArray) == 16, "nvmlProcessesUtilizationInfo_v1_t.procUtilArray");

typedef struct {
    unsigned int gpuUtilization;
    unsigned int memoryUtilization;
    unsigned long long maxMemoryUsage;
    unsigned long long time;
    unsigned long long startTime;
    unsigned int isRunning;
    unsigned int reserved[5];
} nvmlAccountingStats_t;
_Static_assert(sizeof(nvmlAccountingStats_t) == 56, "nvmlAccountingStats_t");
_Static_assert(offsetof(nvmlAccountingStats_t, gpuUtilization) == 0, "nvmlAccountingStats_t.gpuUtilization");
_Static_assert(offsetof(nvmlAccountingStats_t, memoryUtilization) == 4, "nvmlAccountingStats_t.memoryUtilization");
_Static_assert(offsetof(nvmlAccountingStats_t, maxMemoryUsage) == 8, "nvmlAccountingStats_t.maxMemoryUsage");
_Static_assert(offsetof(nvmlAccountingStats_t, time) == 16, "nvmlAccountingStats_t.time");
_Static_assert(offsetof(nvmlAccountingStats_t, startTime) == 24, "nvmlAccountingStats_t.startTime");
_Static_assert(offsetof(nvmlAccountingStats_t, isRunning) == 32, "nvmlAccountingStats_t.isRunning");
_Static_assert(offsetof(nvmlAccountingStats_t, reserved) == 36, "nvmlAccountingStats_t.reserved");

typedef struct {
    unsigned int version;
    char ibGuid[16];
    char rackGuid[16];
    char chassisPhysicalSlotNumber;
    char computeSlotIndex;
    char nodeIndex;
    char peerType;
    char moduleId;
} nvmlPlatformInfo_v1_t;
_Static_assert(sizeof(nvmlPlatformInfo_v1_t) == 44, "nvmlPlatformInfo_v1_t");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, version) == 0, "nvmlPlatformInfo_v1_t.version");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, ibGuid) == 4, "nvmlPlatformInfo_v1_t.ibGuid");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, rackGuid) == 20, "nvmlPlatformInfo_v1_t.rackGuid");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, chassisPhysicalSlotNumber) == 36, "nvmlPlatformInfo_v1_t.chassisPhysicalSlotNumber");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, computeSlotIndex) == 37, "nvmlPlatformInfo_v1_t.computeSlotIndex");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, nodeIndex) == 38, "nvmlPlatformInfo_v1_t.nodeIndex");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, peerType) == 39, "nvmlPlatformInfo_v1_t.peerType");
_Static_assert(offsetof(nvmlPlatformInfo_v1_t, moduleId) == 40, "nvmlPlatformInfo_v1_t.moduleId");

typedef struct {
    unsigned int version;
    char ibGuid[16];
    char chassisSerialNumber[16];
    char slotNumber;
    char trayIndex;
    char hostId;
    char peerType;
    char moduleId;
} nvmlPlatformInfo_v2_t;
_Static_assert(sizeof(nvmlPlatformInfo_v2_t) == 44, "nvmlPlatformInfo_v2_t");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, version) == 0, "nvmlPlatformInfo_v2_t.version");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, ibGuid) == 4, "nvmlPlatformInfo_v2_t.ibGuid");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, chassisSerialNumber) == 20, "nvmlPlatformInfo_v2_t.chassisSerialNumber");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, slotNumber) == 36, "nvmlPlatformInfo_v2_t.slotNumber");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, trayIndex) == 37, "nvmlPlatformInfo_v2_t.trayIndex");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, hostId) == 38, "nvmlPlatformInfo_v2_t.hostId");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, peerType) == 39, "nvmlPlatformInfo_v2_t.peerType");
_Static_assert(offsetof(nvmlPlatformInfo_v2_t, moduleId) == 40, "nvmlPlatformInfo_v2_t.moduleId");

typedef struct {
    unsigned int version;
    unsigned int isNvleEnabled;
} nvmlNvLinkInfo_v1_t;
_Static_assert(sizeof(nvmlNvLinkInfo_v1_t) == 8, "nvmlNvLinkInfo_v1_t");
_Static_assert(offsetof(nvmlNvLinkInfo_v1_t, version) == 0, "nvmlNvLinkInfo_v1_t.version");
_Static_assert(offsetof(nvmlNvLinkInfo_v1_t, isNvleEnabled) == 4, "nvmlNvLinkInfo_v1_t.isNvleEnabled");

typedef struct {
    unsigned char ucodeType;
    unsigned int major;
    unsigned int minor;
    unsigned int subMinor;
} nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion;
_Static_assert(sizeof(nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion) == 16, "nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion, ucodeType) == 0, "nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion.ucodeType");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion, major) == 4, "nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion.major");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion, minor) == 8, "nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion.minor");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion, subMinor) == 12, "nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion.subMinor");

typedef struct {
    nvmlNvLinkInfo_v2_t_firmwareInfo_firmwareVersion firmwareVersion[100];
    unsigned int numValidEntries;
} nvmlNvLinkInfo_v2_t_firmwareInfo;
_Static_assert(sizeof(nvmlNvLinkInfo_v2_t_firmwareInfo) == 1604, "nvmlNvLinkInfo_v2_t_firmwareInfo");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t_firmwareInfo, firmwareVersion) == 0, "nvmlNvLinkInfo_v2_t_firmwareInfo.firmwareVersion");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t_firmwareInfo, numValidEntries) == 1600, "nvmlNvLinkInfo_v2_t_firmwareInfo.numValidEntries");

typedef struct {
    unsigned int version;
    unsigned int isNvleEnabled;
    nvmlNvLinkInfo_v2_t_firmwareInfo firmwareInfo;
} nvmlNvLinkInfo_v2_t;
_Static_assert(sizeof(nvmlNvLinkInfo_v2_t) == 1612, "nvmlNvLinkInfo_v2_t");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t, version) == 0, "nvmlNvLinkInfo_v2_t.version");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t, isNvleEnabled) == 4, "nvmlNvLinkInfo_v2_t.isNvleEnabled");
_Static_assert(offsetof(nvmlNvLinkInfo_v2_t, firmwareInfo) == 8, "nvmlNvLinkInfo_v2_t.firmwareInfo");

typedef struct {
    unsigned int version;
    unsigned int isSupportedDevice;
} nvmlGpmSupport_t;
_Static_assert(sizeof(nvmlGpmSupport_t) == 8, "nvmlGpmSupport_t");
_Static_assert(offsetof(nvmlGpmSupport_t, version) == 0, "nvmlGpmSupport_t.version");
_Static_assert(offsetof(nvmlGpmSupport_t, isSupportedDevice) == 4, "nvmlGpmSupport_t.isSupportedDevice");

typedef struct {
    const char * shortName;
    const char * longName;
    const char * unit;
} nvmlGpmMetric_t_metricInfo;
_Static_assert(sizeof(nvmlGpmMetric_t_metricInfo) == 24, "nvmlGpmMetric_t_metricInfo");
_Static_assert(offsetof(nvmlGpmMetric_t_metricInfo, shortName) == 0, "nvmlGpmMetric_t_metricInfo.shortName");
_Static_assert(offsetof(nvmlGpmMetric_t_metricInfo, longName) == 8, "nvmlGpmMetric_t_metricInfo.longName");
_Static_assert(offsetof(nvmlGpmMetric_t_metricInfo, unit) == 16, "nvmlGpmMetric_t_metricInfo.unit");

typedef struct {
    unsigned int metricId;
    unsigned int nvmlReturn;
    double value;
    nvmlGpmMetric_t_metricInfo metricInfo;
} nvmlGpmMetric_t;
_Static_assert(sizeof(nvmlGpmMetric_t) == 40, "nvmlGpmMetric_t");
_Static_assert(offsetof(nvmlGpmMetric_t, metricId) == 0, "nvmlGpmMetric_t.metricId");
_Static_assert(offsetof(nvmlGpmMetric_t, nvmlReturn) == 4, "nvmlGpmMetric_t.nvmlReturn");
_Static_assert(offsetof(nvmlGpmMetric_t, value) == 8, "nvmlGpmMetric_t.value");
_Static_assert(offsetof(nvmlGpmMetric_t, metricInfo) == 16, "nvmlGpmMetric_t.metricInfo");

typedef struct {
    unsigned long long l1Cache;
    unsigned long long l2Cache;
    unsigned long long deviceMemory;
    unsigned long long registerFile;
} nvmlEccErrorCounts_t;
_Static_assert(sizeof(nvmlEccErrorCounts_t) == 32, "nvmlEccErrorCounts_t");
_Static_assert(offsetof(nvmlEccErrorCounts_t, l1Cache) == 0, "nvmlEccErrorCounts_t.l1Cache");
_Static_assert(offsetof(nvmlEccErrorCounts_t, l2Cache) == 8, "nvmlEccErrorCounts_t.l2Cache");
_Static_assert(offsetof(nvmlEccErrorCounts_t, deviceMemory) == 16, "nvmlEccErrorCounts_t.deviceMemory");
_Static_assert(offsetof(nvmlEccErrorCounts_t, registerFile) == 24, "nvmlEccErrorCounts_t.registerFile");

typedef struct {
    unsigned int type;
    unsigned int fwVersion;
} nvmlBridgeChipHierarchy_t_bridgeChipInfo;
_Static_assert(sizeof(nvmlBridgeChipHierarchy_t_bridgeChipInfo) == 8, "nvmlBridgeChipHierarchy_t_bridgeChipInfo");
_Static_assert(offsetof(nvmlBridgeChipHierarchy_t_bridgeChipInfo, type) == 0, "nvmlBridgeChipHierarchy_t_bridgeChipInfo.type");
_Static_assert(offsetof(nvmlBridgeChipHierarchy_t_bridgeChipInfo, fwVersion) == 4, "nvmlBridgeChipHierarchy_t_bridgeChipInfo.fwVersion");

typedef struct {
    unsigned int bridgeCount;
    nvmlBridgeChipHierarchy_t_bridgeChipInfo bridgeChipInfo[128];
} nvmlBridgeChipHierarchy_t;
_Static_assert(sizeof(nvmlBridgeChipHierarchy_t) == 1028, "nvmlBridgeChipHierarchy_t");
_Static_assert(offsetof(nvmlBridgeChipHierarchy_t, bridgeCount) == 0, "nvmlBridgeChipHierarchy_t.bridgeCount");
_Static_assert(offsetof(nvmlBridgeChipHierarchy_t, bridgeChipInfo) == 4, "nvmlBridgeChipHierarchy_t.bridgeChipInfo");

typedef struct {
    unsigned int year;
    unsigned short month;
    unsigned short day;
    unsigned short hour;
    unsigned short min;
    unsigned short sec;
    unsigned char status;
} nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry) == 16, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, year) == 0, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.year");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, month) == 4, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.month");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, day) == 6, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.day");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, hour) == 8, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.hour");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, min) == 10, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.min");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, sec) == 12, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.sec");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry, status) == 14, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry.status");

typedef struct {
    unsigned int featureCode;
    unsigned int featureState;
    char licenseInfo[128];
    char productName[128];
    unsigned int featureEnabled;
    nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures_licenseExpiry licenseExpiry;
} nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures) == 284, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures, featureCode) == 0, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures.featureCode");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures, featureState) == 4, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures.featureState");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures, licenseInfo) == 8, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures.licenseInfo");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures, productName) == 136, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures.productName");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures, featureEnabled) == 264, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures.featureEnabled");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures, licenseExpiry) == 268, "nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures.licenseExpiry");

typedef struct {
    int isGridLicenseSupported;
    unsigned int licensableFeaturesCount;
    nvmlGridLicensableFeatures_v4_t_gridLicensableFeatures gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_v4_t;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v4_t) == 860, "nvmlGridLicensableFeatures_v4_t");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t, isGridLicenseSupported) == 0, "nvmlGridLicensableFeatures_v4_t.isGridLicenseSupported");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t, licensableFeaturesCount) == 4, "nvmlGridLicensableFeatures_v4_t.licensableFeaturesCount");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v4_t, gridLicensableFeatures) == 8, "nvmlGridLicensableFeatures_v4_t.gridLicensableFeatures");

typedef struct {
    unsigned int featureCode;
    unsigned int featureState;
    char licenseInfo[128];
    char productName[128];
    unsigned int featureEnabled;
} nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures) == 268, "nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures, featureCode) == 0, "nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures.featureCode");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures, featureState) == 4, "nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures.featureState");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures, licenseInfo) == 8, "nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures.licenseInfo");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures, productName) == 136, "nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures.productName");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures, featureEnabled) == 264, "nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures.featureEnabled");

typedef struct {
    int isGridLicenseSupported;
    unsigned int licensableFeaturesCount;
    nvmlGridLicensableFeatures_v3_t_gridLicensableFeatures gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_v3_t;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v3_t) == 812, "nvmlGridLicensableFeatures_v3_t");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t, isGridLicenseSupported) == 0, "nvmlGridLicensableFeatures_v3_t.isGridLicenseSupported");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t, licensableFeaturesCount) == 4, "nvmlGridLicensableFeatures_v3_t.licensableFeaturesCount");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v3_t, gridLicensableFeatures) == 8, "nvmlGridLicensableFeatures_v3_t.gridLicensableFeatures");

typedef struct {
    unsigned int featureCode;
    unsigned int featureState;
    char licenseInfo[128];
    char productName[128];
} nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures) == 264, "nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures, featureCode) == 0, "nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures.featureCode");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures, featureState) == 4, "nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures.featureState");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures, licenseInfo) == 8, "nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures.licenseInfo");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures, productName) == 136, "nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures.productName");

typedef struct {
    int isGridLicenseSupported;
    unsigned int licensableFeaturesCount;
    nvmlGridLicensableFeatures_v2_t_gridLicensableFeatures gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_v2_t;
_Static_assert(sizeof(nvmlGridLicensableFeatures_v2_t) == 800, "nvmlGridLicensableFeatures_v2_t");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t, isGridLicenseSupported) == 0, "nvmlGridLicensableFeatures_v2_t.isGridLicenseSupported");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t, licensableFeaturesCount) == 4, "nvmlGridLicensableFeatures_v2_t.licensableFeaturesCount");
_Static_assert(offsetof(nvmlGridLicensableFeatures_v2_t, gridLicensableFeatures) == 8, "nvmlGridLicensableFeatures_v2_t.gridLicensableFeatures");

typedef struct {
    unsigned int featureCode;
    unsigned int featureState;
    char licenseInfo[128];
} nvmlGridLicensableFeatures_t_gridLicensableFeatures;
_Static_assert(sizeof(nvmlGridLicensableFeatures_t_gridLicensableFeatures) == 136, "nvmlGridLicensableFeatures_t_gridLicensableFeatures");
_Static_assert(offsetof(nvmlGridLicensableFeatures_t_gridLicensableFeatures, featureCode) == 0, "nvmlGridLicensableFeatures_t_gridLicensableFeatures.featureCode");
_Static_assert(offsetof(nvmlGridLicensableFeatures_t_gridLicensableFeatures, featureState) == 4, "nvmlGridLicensableFeatures_t_gridLicensableFeatures.featureState");
_Static_assert(offsetof(nvmlGridLicensableFeatures_t_gridLicensableFeatures, licenseInfo) == 8, "nvmlGridLicensableFeatures_t_gridLicensableFeatures.licenseInfo");

typedef struct {
    int isGridLicenseSupported;
    unsigned int licensableFeaturesCount;
    nvmlGridLicensableFeatures_t_gridLicensableFeatures gridLicensableFeatures[3];
} nvmlGridLicensableFeatures_t;
_Static_assert(sizeof(nvmlGridLicensableFeatures_t) == 416, "nvmlGridLicensableFeatures_t");
_Static_assert(offsetof(nvmlGridLicensableFeatures_t, isGridLicenseSupported) == 0, "nvmlGridLicensableFeatures_t.isGridLicenseSupported");
_Static_assert(offsetof(nvmlGridLicensableFeatures_t, licensableFeaturesCount) == 4, "nvmlGridLicensableFeatures_t.licensableFeaturesCount");
_Static_assert(offsetof(nvmlGridLicensableFeatures_t, gridLicensableFeatures) == 8, "nvmlGridLicensableFeatures_t.gridLicensableFeatures");

typedef struct {
    unsigned int minVersion;
    unsigned int maxVersion;
} nvmlVgpuVersion_t;
_Static_assert(sizeof(nvmlVgpuVersion_t) == 8, "nvmlVgpuVersion_t");
_Static_assert(offsetof(nvmlVgpuVersion_t, minVersion) == 0, "nvmlVgpuVersion_t.minVersion");
_Static_assert(offsetof(nvmlVgpuVersion_t, maxVersion) == 4, "nvmlVgpuVersion_t.maxVersion");

typedef struct {
    unsigned int version;
    unsigned int powerScope;
    unsigned int powerValueMw;
} nvmlPowerValue_v2_t;
_Static_assert(sizeof(nvmlPowerValue_v2_t) == 12, "nvmlPowerValue_v2_t");
_Static_assert(offsetof(nvmlPowerValue_v2_t, version) == 0, "nvmlPowerValue_v2_t.version");
_Static_assert(offsetof(nvmlPowerValue_v2_t, powerScope) == 4, "nvmlPowerValue_v2_t.powerScope");
_Static_assert(offsetof(nvmlPowerValue_v2_t, powerValueMw) == 8, "nvmlPowerValue_v2_t.powerValueMw");

typedef struct {
    unsigned int version;
    void *set;
} nvmlSystemEventSetCreateRequest_v1_t;
_Static_assert(sizeof(nvmlSystemEventSetCreateRequest_v1_t) == 16, "nvmlSystemEventSetCreateRequest_v1_t");
_Static_assert(offsetof(nvmlSystemEventSetCreateRequest_v1_t, version) == 0, "nvmlSystemEventSetCreateRequest_v1_t.version");
_Static_assert(offsetof(nvmlSystemEventSetCreateRequest_v1_t, set) == 8, "nvmlSystemEventSetCreateRequest_v1_t.set");

typedef struct {
    unsigned int version;
    void *set;
} nvmlSystemEventSetFreeRequest_v1_t;
_Static_assert(sizeof(nvmlSystemEventSetFreeRequest_v1_t) == 16, "nvmlSystemEventSetFreeRequest_v1_t");
_Static_assert(offsetof(nvmlSystemEventSetFreeRequest_v1_t, version) == 0, "nvmlSystemEventSetFreeRequest_v1_t.version");
_Static_assert(offsetof(nvmlSystemEventSetFreeRequest_v1_t, set) == 8, "nvmlSystemEventSetFreeRequest_v1_t.set");

typedef struct {
    unsigned int version;
    unsigned long long eventTypes;
    void *set;
} nvmlSystemRegisterEventRequest_v1_t;
_Static_assert(sizeof(nvmlSystemRegisterEventRequest_v1_t) == 24, "nvmlSystemRegisterEventRequest_v1_t");
_Static_assert(offsetof(nvmlSystemRegisterEventRequest_v1_t, version) == 0, "nvmlSystemRegisterEventRequest_v1_t.version");
_Static_assert(offsetof(nvmlSystemRegisterEventRequest_v1_t, eventTypes) == 8, "nvmlSystemRegisterEventRequest_v1_t.eventTypes");
_Static_assert(offsetof(nvmlSystemRegisterEventRequest_v1_t, set) == 16, "nvmlSystemRegisterEventRequest_v1_t.set");

typedef struct {
    unsigned long long eventType;
    unsigned int gpuId;
} nvmlSystemEventData_v1_t;
_Static_assert(sizeof(nvmlSystemEventData_v1_t) == 16, "nvmlSystemEventData_v1_t");
_Static_assert(offsetof(nvmlSystemEventData_v1_t, eventType) == 0, "nvmlSystemEventData_v1_t.eventType");
_Static_assert(offsetof(nvmlSystemEventData_v1_t, gpuId) == 8, "nvmlSystemEventData_v1_t.gpuId");

typedef struct {
    unsigned int version;
    unsigned int timeoutms;
    void *set;
    void *data;
    unsigned int dataSize;
    unsigned int numEvent;
} nvmlSystemEventSetWaitRequest_v1_t;
_Static_assert(sizeof(nvmlSystemEventSetWaitRequest_v1_t) == 32, "nvmlSystemEventSetWaitRequest_v1_t");
_Static_assert(offsetof(nvmlSystemEventSetWaitRequest_v1_t, version) == 0, "nvmlSystemEventSetWaitRequest_v1_t.version");
_Static_assert(offsetof(nvmlSystemEventSetWaitRequest_v1_t, timeoutms) == 4, "nvmlSystemEventSetWaitRequest_v1_t.timeoutms");
_Static_assert(offsetof(nvmlSystemEventSetWaitRequest_v1_t, set) == 8, "nvmlSystemEventSetWaitRequest_v1_t.set");
_Static_assert(offsetof(nvmlSystemEventSetWaitRequest_v1_t, data) == 16, "nvmlSystemEventSetWaitRequest_v1_t.data");
_Static_assert(offsetof(nvmlSystemEventSetWaitRequest_v1_t, dataSize) == 24, "nvmlSystemEventSetWaitRequest_v1_t.dataSize");
_Static_assert(offsetof(nvmlSystemEventSetWaitRequest_v1_t, numEvent) == 28, "nvmlSystemEventSetWaitRequest_v1_t.numEvent");

typedef struct {
    unsigned int version;
    unsigned int type;
    unsigned int pstate;
    int clockOffsetMHz;
    int minClockOffsetMHz;
    int maxClockOffsetMHz;
} nvmlClockOffset_v1_t;
_Static_assert(sizeof(nvmlClockOffset_v1_t) == 24, "nvmlClockOffset_v1_t");
_Static_assert(offsetof(nvmlClockOffset_v1_t, version) == 0, "nvmlClockOffset_v1_t.version");
_Static_assert(offsetof(nvmlClockOffset_v1_t, type) == 4, "nvmlClockOffset_v1_t.type");
_Static_assert(offsetof(nvmlClockOffset_v1_t, pstate) == 8, "nvmlClockOffset_v1_t.pstate");
_Static_assert(offsetof(nvmlClockOffset_v1_t, clockOffsetMHz) == 12, "nvmlClockOffset_v1_t.clockOffsetMHz");
_Static_assert(offsetof(nvmlClockOffset_v1_t, minClockOffsetMHz) == 16, "nvmlClockOffset_v1_t.minClockOffsetMHz");
_Static_assert(offsetof(nvmlClockOffset_v1_t, maxClockOffsetMHz) == 20, "nvmlClockOffset_v1_t.maxClockOffsetMHz");

typedef struct {
    unsigned int version;
    unsigned int environment;
    unsigned int ccFeature;
    unsigned int devToolsMode;
    unsigned int multiGpuMode;
} nvmlSystemConfComputeSettings_v1_t;
_Static_assert(sizeof(nvmlSystemConfComputeSettings_v1_t) == 20, "nvmlSystemConfComputeSettings_v1_t");
_Static_assert(offsetof(nvmlSystemConfComputeSettings_v1_t, version) == 0, "nvmlSystemConfComputeSettings_v1_t.version");
_Static_assert(offsetof(nvmlSystemConfComputeSettings_v1_t, environment) == 4, "nvmlSystemConfComputeSettings_v1_t.environment");
_Static_assert(offsetof(nvmlSystemConfComputeSettings_v1_t, ccFeature) == 8, "nvmlSystemConfComputeSettings_v1_t.ccFeature");
_Static_assert(offsetof(nvmlSystemConfComputeSettings_v1_t, devToolsMode) == 12, "nvmlSystemConfComputeSettings_v1_t.devToolsMode");
_Static_assert(offsetof(nvmlSystemConfComputeSettings_v1_t, multiGpuMode) == 16, "nvmlSystemConfComputeSettings_v1_t.multiGpuMode");

typedef struct {
    unsigned int mask[8];
} nvmlMask255_t;
_Static_assert(sizeof(nvmlMask255_t) == 32, "nvmlMask255_t");
_Static_assert(offsetof(nvmlMask255_t, mask) == 0, "nvmlMask255_t.mask");

typedef struct {
    unsigned int version;
    unsigned int profileId;
    unsigned int priority;
    nvmlMask255_t conflictingmask;
} nvmlWorkloadPowerProfileInfo_v1_t;
_Static_assert(sizeof(nvmlWorkloadPowerProfileInfo_v1_t) == 44, "nvmlWorkloadPowerProfileInfo_v1_t");
_Static_assert(offsetof(nvmlWorkloadPowerProfileInfo_v1_t, version) == 0, "nvmlWorkloadPowerProfileInfo_v1_t.version");
_Static_assert(offsetof(nvmlWorkloadPowerProfileInfo_v1_t, profileId) == 4, "nvmlWorkloadPowerProfileInfo_v1_t.profileId");
_Static_assert(offsetof(nvmlWorkloadPowerProfileInfo_v1_t, priority) == 8, "nvmlWorkloadPowerProfileInfo_v1_t.priority");
_Static_assert(offsetof(nvmlWorkloadPowerProfileInfo_v1_t, conflictingmask) == 12, "nvmlWorkloadPowerProfileInfo_v1_t.conflictingmask");

typedef struct {
    unsigned int version;
    nvmlMask255_t perfProfilesMask;
    nvmlWorkloadPowerProfileInfo_v1_t perfProfile[255];
} nvmlWorkloadPowerProfileProfilesInfo_v1_t;
_Static_assert(sizeof(nvmlWorkloadPowerProfileProfilesInfo_v1_t) == 11256, "nvmlWorkloadPowerProfileProfilesInfo_v1_t");
_Static_assert(offsetof(nvmlWorkloadPowerProfileProfilesInfo_v1_t, version) == 0, "nvmlWorkloadPowerProfileProfilesInfo_v1_t.version");
_Static_assert(offsetof(nvmlWorkloadPowerProfileProfilesInfo_v1_t, perfProfilesMask) == 4, "nvmlWorkloadPowerProfileProfilesInfo_v1_t.perfProfilesMask");
_Static_assert(offsetof(nvmlWorkloadPowerProfileProfilesInfo_v1_t, perfProfile) == 36, "nvmlWorkloadPowerProfileProfilesInfo_v1_t.perfProfile");

typedef struct {
    unsigned int version;
    nvmlMask255_t perfProfilesMask;
    nvmlMask255_t requestedProfilesMask;
    nvmlMask255_t enforcedProfilesMask;
} nvmlWorkloadPowerProfileCurrentProfiles_v1_t;
_Static_assert(sizeof(nvmlWorkloadPowerProfileCurrentProfiles_v1_t) == 100, "nvmlWorkloadPowerProfileCurrentProfiles_v1_t");
_Static_assert(offsetof(nvmlWorkloadPowerProfileCurrentProfiles_v1_t, version) == 0, "nvmlWorkloadPowerProfileCurrentProfiles_v1_t.version");
_Static_assert(offsetof(nvmlWorkloadPowerProfileCurrentProfiles_v1_t, perfProfilesMask) == 4, "nvmlWorkloadPowerProfileCurrentProfiles_v1_t.perfProfilesMask");
_Static_assert(offsetof(nvmlWorkloadPowerProfileCurrentProfiles_v1_t, requestedProfilesMask) == 36, "nvmlWorkloadPowerProfileCurrentProfiles_v1_t.requestedProfilesMask");
_Static_assert(offsetof(nvmlWorkloadPowerProfileCurrentProfiles_v1_t, enforcedProfilesMask) == 68, "nvmlWorkloadPowerProfileCurrentProfiles_v1_t.enforcedProfilesMask");

typedef struct {
    unsigned int version;
    nvmlMask255_t requestedProfilesMask;
} nvmlWorkloadPowerProfileRequestedProfiles_v1_t;
_Static_assert(sizeof(nvmlWorkloadPowerProfileRequestedProfiles_v1_t) == 36, "nvmlWorkloadPowerProfileRequestedProfiles_v1_t");
_Static_assert(offsetof(nvmlWorkloadPowerProfileRequestedProfiles_v1_t, version) == 0, "nvmlWorkloadPowerProfileRequestedProfiles_v1_t.version");
_Static_assert(offsetof(nvmlWorkloadPowerProfileRequestedProfiles_v1_t, requestedProfilesMask) == 4, "nvmlWorkloadPowerProfileRequestedProfiles_v1_t.requestedProfilesMask");

typedef struct {
    unsigned int dataSize;
    unsigned int status;
    unsigned char data[496];
} nvmlPRMTLV_v1_t;
_Static_assert(sizeof(nvmlPRMTLV_v1_t) == 504, "nvmlPRMTLV_v1_t");
_Static_assert(offsetof(nvmlPRMTLV_v1_t, dataSize) == 0, "nvmlPRMTLV_v1_t.dataSize");
_Static_assert(offsetof(nvmlPRMTLV_v1_t, status) == 4, "nvmlPRMTLV_v1_t.status");
_Static_assert(offsetof(nvmlPRMTLV_v1_t, data) == 8, "nvmlPRMTLV_v1_t.data");

typedef struct {
    unsigned int numCounters;
    void *counters;
} nvmlPRMCounterList_v1_t;
_Static_assert(sizeof(nvmlPRMCounterList_v1_t) == 16, "nvmlPRMCounterList_v1_t");
_Static_assert(offsetof(nvmlPRMCounterList_v1_t, numCounters) == 0, "nvmlPRMCounterList_v1_t.numCounters");
_Static_assert(offsetof(nvmlPRMCounterList_v1_t, counters) == 8, "nvmlPRMCounterList_v1_t.counters");

#endif
