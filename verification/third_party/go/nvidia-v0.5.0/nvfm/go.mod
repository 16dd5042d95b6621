module github.com/NVIDIA/go-nvfm

// A replacement of ours: the module of this name cannot be downloaded. See nvfm.go.
go 1.26.0
