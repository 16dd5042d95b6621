// Package nvfm has the names that NVIDIA's driver uses of github.com/NVIDIA/go-nvfm, which cannot be downloaded.
//
// Every function answers that it is not supported, so the driver runs only without its feature gate
// FabricManagerPartitioning. Sizes of arrays are those of the header of the Fabric Manager SDK.
package nvfm

import "fmt"

const (
	maxPartitions = 64
	maxGPUs       = 16
	uuidBytes     = 80
	pciBytes      = 32
)

// Return is the result of a call.
type Return int32

// Results of calls.
const (
	SUCCESS              Return = 0
	NOT_SUPPORTED        Return = -3
	IN_USE               Return = -7
	CONNECTION_NOT_VALID Return = -9
)

// Error returns the text of a result.
func (r Return) Error() string {
	if r == NOT_SUPPORTED {
		return "the Fabric Manager library is not implemented in this build"
	}
	return fmt.Sprintf("Fabric Manager result %d", int32(r))
}

// FabricPartitionId is the number of a partition.
type FabricPartitionId uint32

// GpuInfo describes a GPU of a partition.
type GpuInfo struct {
	PhysicalId          uint32
	Uuid                [uuidBytes]int8
	PciBusId            [pciBytes]int8
	NumNvLinksAvailable uint32
	MaxNumNvLinks       uint32
	NvlinkLineRateMBps  uint32
}

// FabricPartitionInfo describes a partition.
type FabricPartitionInfo struct {
	PartitionId FabricPartitionId
	IsActive    uint32
	NumGpus     uint32
	GpuInfo     [maxGPUs]GpuInfo
}

// FabricPartitionList is the result of GetSupportedFabricPartitions.
type FabricPartitionList struct {
	NumPartitions    uint32
	MaxNumPartitions uint32
	PartitionInfo    [maxPartitions]FabricPartitionInfo
}

// Handle is a connection to the Fabric Manager.
type Handle interface {
	GetSupportedFabricPartitions() (FabricPartitionList, Return)
	ActivateFabricPartition(FabricPartitionId) Return
	DeactivateFabricPartition(FabricPartitionId) Return
	Disconnect() Return
}

// LibraryOption is an option of New.
type LibraryOption func()

// ConnectOption is an option of Connect.
type ConnectOption func()

// Interface is the library.
type Interface interface {
	Init() Return
	Shutdown() Return
	Connect(...ConnectOption) (Handle, Return)
}

// WithLibraryPath is ignored.
func WithLibraryPath(string) LibraryOption { return func() {} }

// WithAddress is ignored.
func WithAddress(string) ConnectOption { return func() {} }

// WithUnixSocket is ignored.
func WithUnixSocket(string) ConnectOption { return func() {} }

// WithTimeoutMs is ignored.
func WithTimeoutMs(uint32) ConnectOption { return func() {} }

type missing struct{}

// New returns a library that supports nothing.
func New(...LibraryOption) Interface { return missing{} }

func (missing) Init() Return                              { return NOT_SUPPORTED }
func (missing) Shutdown() Return                          { return NOT_SUPPORTED }
func (missing) Connect(...ConnectOption) (Handle, Return) { return nil, NOT_SUPPORTED }
