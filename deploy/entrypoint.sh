#!/bin/sh
# Numba takes compiled code only from a folder that it can write to, and the image is read-only. So the kernels that
# were compiled when the image was built are copied to /tmp, and nothing is compiled at the start. On another kind of
# processor they do not fit: then they are compiled, which takes some seconds.
set -eu

kernels=${CORML_KERNELS:-/opt/corml/kernels}
folder=$(mktemp -d "${TMPDIR:-/tmp}/corml-kernels-XXXXXX")
cp -R "$kernels/." "$folder/"
export NUMBA_CACHE_DIR="$folder"
exec "$@"
