#!/usr/bin/env python3
"""The official Python client: create, list, watch, patch, delete, and a custom resource.

  python_client.py KUBECONFIG

Exit status 0 if all went well. Needs the package `kubernetes`.
"""
import sys
import threading

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "python-client"


def main():
    config.load_kube_config(sys.argv[1])
    core = client.CoreV1Api()
    core.create_namespace({"metadata": {"name": NAMESPACE}})

    made = core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name="a", labels={"x": "y"}), data={"k": "v"}))
    assert made.metadata.uid, made
    found = core.list_namespaced_config_map(NAMESPACE, label_selector="x=y")
    assert [item.metadata.name for item in found.items] == ["a"], found

    def change():
        core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"k": "w"}})
        core.delete_namespaced_config_map("a", NAMESPACE)

    timer = threading.Timer(0.2, change)
    timer.start()
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_config_map, NAMESPACE, label_selector="x=y",
                                      resource_version=found.metadata.resource_version, timeout_seconds=10):
        seen.append((event["type"], event["object"].data["k"]))
        if event["type"] == "DELETED":
            break
    timer.join()
    assert seen == [("MODIFIED", "w"), ("DELETED", "w")], seen

    try:
        core.read_namespaced_config_map("a", NAMESPACE)
        raise AssertionError("deleted, and still there")
    except ApiException as error:
        assert error.status == 404, error

    extensions, custom = client.ApiextensionsV1Api(), client.CustomObjectsApi()
    extensions.create_custom_resource_definition({
        "metadata": {"name": "toys.python.example.com"},
        "spec": {"group": "python.example.com", "scope": "Namespaced",
                 "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                               "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                                   "spec": {"type": "object", "properties": {"n": {"type": "integer"}}},
                                   "status": {"type": "object", "properties": {"ok": {"type": "boolean"}}}}}}}]}})
    where = ("python.example.com", "v1", NAMESPACE, "toys")
    custom.create_namespaced_custom_object(*where, {
        "apiVersion": "python.example.com/v1", "kind": "Toy", "metadata": {"name": "t"}, "spec": {"n": 1}})
    custom.patch_namespaced_custom_object(*where, "t", {"spec": {"n": 2}})
    custom.patch_namespaced_custom_object_status(*where, "t", {"status": {"ok": True}})
    toy = custom.get_namespaced_custom_object(*where, "t")
    assert (toy["spec"], toy["status"]) == ({"n": 2}, {"ok": True}), toy
    deployment = client.AppsV1Api().create_namespaced_deployment(NAMESPACE, {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    assert deployment.spec.replicas == 1, deployment
    extensions.delete_custom_resource_definition("toys.python.example.com")
    core.delete_namespace(NAMESPACE)
    print("python client: ok")


if __name__ == "__main__":
    main()
