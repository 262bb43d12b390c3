#!/usr/bin/env bash
# The operator as it ships, on a cluster of its own: builds the image, applies what `manifests` prints and the samples,
# and waits until an object is reconciled. Needs docker, kind, kubectl and curl. KEEP=1 leaves the cluster.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cluster=@PACKAGE@-e2e
image=@PACKAGE@:e2e
kubectl() { command kubectl --context "kind-$cluster" "$@"; }

finish() {
    status=$?
    [ -z "${forward:-}" ] || kill "$forward" 2>/dev/null || true
    if [ "$status" != 0 ]; then
        kubectl --namespace operators get pods || true
        kubectl --namespace operators logs --all-containers --tail 50 --selector app.kubernetes.io/name || true
    fi
    [ -n "${KEEP:-}" ] || kind delete cluster --name "$cluster"
    exit "$status"
}

# Tries a command once a second, for two minutes.
until_it_works() {
    for _ in $(seq 120); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 1
    done
    "$@"
}

reconciled() { curl -fsS http://127.0.0.1:8080/status | grep -q '"result":"ok"'; }

docker build --file "$here/Dockerfile" --tag "$image" "$here/@UP@"
trap finish EXIT
kind create cluster --name "$cluster" --wait 120s
kind load docker-image "$image" --name "$cluster"

docker run --rm "$image" manifests --image "$image" >"${TMPDIR:-/tmp}/$cluster.yaml"
# Kinds must be known before their objects are: what comes too early is applied again.
until_it_works kubectl apply --filename "${TMPDIR:-/tmp}/$cluster.yaml"
kubectl --namespace operators wait --for condition=Available deployment --all --timeout 120s
[ ! -d "$here/manifests" ] || until_it_works kubectl apply --filename "$here/manifests"

deployment=$(kubectl --namespace operators get deployments --output name)
kubectl --namespace operators port-forward "$deployment" 8080:8080 >/dev/null &
forward=$!
until_it_works reconciled
echo "reconciled"
