#!/usr/bin/env bash
# The operator as it ships, on a cluster of its own: builds the image, applies what `manifests` prints and the samples,
# and waits until an object is reconciled. Needs docker, kind and kubectl. KEEP=1 leaves the cluster, which the next run takes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
package=@PACKAGE@
cluster=${package//_/-}-e2e
image=$package:e2e
printed=$(mktemp)
kubectl() { command kubectl --context "kind-$cluster" "$@"; }
operators() { kubectl --namespace operators "$@"; }

finish() {
    status=$?
    rm -f "$printed"
    if [ "$status" != 0 ]; then
        operators get pods || true
        operators logs --all-containers --tail 50 --selector app.kubernetes.io/name || true
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

# By the metrics, which count what went well, whatever became of the object since.
reconciled() {
    operators get --raw "/api/v1/namespaces/operators/services/$service:http/proxy/metrics" |
        grep -E '^controller_runtime_reconcile_total\{.*result="(success|requeue|requeue_after)".*\} [1-9]'
}

docker build --file "$here/Dockerfile" --tag "$image" "$here/@UP@"
trap finish EXIT
kind get clusters | grep -x "$cluster" || kind create cluster --name "$cluster" --wait 120s
kind load docker-image "$image" --name "$cluster"

docker run --rm "$image" manifests --image "$image" >"$printed"
# Kinds must be known before their objects are, and before the operator is ready: what comes too early is applied again.
until_it_works kubectl apply --filename "$printed"
[ ! -d "$here/manifests" ] || until_it_works kubectl apply --filename "$here/manifests"
# A cluster that was kept runs the image of the run before.
operators rollout restart deployment
operators rollout status "$(operators get deployment --output name)" --timeout 120s

service=$(operators get service --output jsonpath='{.items[0].metadata.name}')
until_it_works reconciled
echo "reconciled"
