#!/bin/sh
# Runs a driver that needs NRI beside a containerd of its own. Needs root and a mount namespace, which the option
# --driver-mount makes:
#
#   beside_containerd.sh CONTAINERD COMMAND...
#
# containerd ends with the process group of the driver. What it writes is below TMPDIR or in the namespace's /run.
set -eu
containerd=$1
shift
mount -t tmpfs none /run/nri 2> /dev/null || { mkdir -p /run/nri; mount -t tmpfs none /run/nri; }
config="$TMPDIR/containerd.toml"
cat > "$config" <<EOF
version = 3
root = "$TMPDIR/containerd"
state = "$TMPDIR/state"
[grpc]
address = "/run/nri/containerd.sock"
[plugins.'io.containerd.nri.v1.nri']
disable = false
socket_path = "/run/nri/nri.sock"
EOF
"$containerd" --config "$config" > "$TMPDIR/containerd.log" 2>&1 &
tries=0
while [ ! -S /run/nri/nri.sock ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 200 ] || ! kill -0 $! 2> /dev/null; then
        echo "containerd has no NRI socket; last output:"
        tail -n 3 "$TMPDIR/containerd.log"
        exit 1
    fi
    sleep 0.05
done
exec "$@"
