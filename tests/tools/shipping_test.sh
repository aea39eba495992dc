#!/usr/bin/env bash
# The recipe of tools/docs/shipping.md: a program runs the kernels of one file in a read-only root
# that has no compiler, no shell and no writable folder.
#
#   shipping_test.sh BUILD_FOLDER
set -euo pipefail
programs=("$1/tools/examples/example_02_plan_once_cpp" "$1/tools/tunedgemm")
if ! unshare --user --map-root-user --mount true 2>/dev/null; then
  echo "this user cannot make namespaces, so there is no root to run the program in"
  exit 77
fi
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder" && rm -rf "$folder"' EXIT

cat >"$folder/model.csv" <<END
name,types,m,n,k,activation,bias
up,f32,16,512,256,relu,col
up,f32,64,512,256,relu,col
END
export TUNEDGEMM_CACHE=$folder/cache.db
"$1/tools/tune-all" --device host --rigor quick --candidates 3 --budget-seconds 100 "$folder/model.csv" >/dev/null
root=$folder/root
mkdir -p "$root/opt/tunedgemm" "$root/bin" "$root/proc" "$root/sys"
"$1/tools/tunedgemm" export "$root/opt/tunedgemm/model.db" --list "$folder/model.csv" --device host

for program in "${programs[@]}"; do
  cp "$program" "$root/bin"
  ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
# Runs a program of the root. The library reads the CPU's features from /proc, as in a container.
run() {
  # shellcheck disable=SC2016  # the inner shell expands these
  env -i TUNEDGEMM_SYSTEM_CACHE=/opt/tunedgemm/model.db TUNEDGEMM_POLICY=stored \
    unshare --user --map-root-user --mount sh -c '
      mount --bind "$1" "$1" && mount --rbind /proc "$1/proc" && mount --rbind /sys "$1/sys" && mount -o remount,bind,ro "$1" || exit 77
      root=$1
      shift
      exec chroot "$root" "$@"' sh "$root" "$@"
}
before=$(sha256sum "$root/opt/tunedgemm/model.db"; ls -lR "$root/opt")
description=$(run /bin/example_02_plan_once_cpp)
echo "$description"
grep -q "(tuned, " <<<"$description" # no compiler is no other compiler
# Whether the winners still hold, and what finished beside them, depends on the machine's load; 1 says
# that one is slower.
status=0
verified=$(run /bin/tunedgemm verify /opt/tunedgemm/model.db --device host 2>&1) || status=$?
echo "$verified"
((status <= 1))
(($(grep -Ec ': (holds|slower by .*|correct; .*)$' <<<"$verified") == 2))
[[ $before == "$(sha256sum "$root/opt/tunedgemm/model.db"; ls -lR "$root/opt")" ]]
