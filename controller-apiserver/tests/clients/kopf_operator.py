#!/usr/bin/env python3
"""A small kopf operator: a ConfigMap for each Greeting, a status, a finalizer.

  kopf_operator.py KUBECONFIG

Runs the operator in a thread, plays with it, and stops it. Needs the packages `kopf` and `kubernetes`.
"""
import asyncio
import os
import sys
import threading
import time

NAMESPACE = "kopf-operator"
os.environ["KUBECONFIG"] = sys.argv[1]

import kopf  # noqa: E402
from kubernetes import client, config  # noqa: E402
from kubernetes.client.rest import ApiException  # noqa: E402

GROUP = ("kopf.example.com", "v1", NAMESPACE, "greetings")


@kopf.on.create("kopf.example.com", "v1", "greetings")
@kopf.on.update("kopf.example.com", "v1", "greetings")
def greet(spec, name, namespace, **_):
    body = {"metadata": {"name": name}, "data": {"text": f"hello {spec.get('whom')}"}}
    core = client.CoreV1Api()
    try:
        core.create_namespaced_config_map(namespace, body)
    except ApiException as error:
        if error.status != 409:
            raise
        core.patch_namespaced_config_map(name, namespace, body)
    return {"said": body["data"]["text"]}


@kopf.on.delete("kopf.example.com", "v1", "greetings")
def leave(name, namespace, **_):
    client.CoreV1Api().delete_namespaced_config_map(name, namespace)


def until(what, check, seconds=30):
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        try:
            last = check()
            if last:
                return last
        except ApiException as error:
            last = error
        time.sleep(0.1)
    raise SystemExit(f"kopf: {what}: not seen in {seconds} s; last {last}")


def play():
    custom, core = client.CustomObjectsApi(), client.CoreV1Api()
    custom.create_namespaced_custom_object(*GROUP, {
        "apiVersion": "kopf.example.com/v1", "kind": "Greeting", "metadata": {"name": "g"}, "spec": {"whom": "a"}})

    def text():
        return core.read_namespaced_config_map("g", NAMESPACE).data["text"]

    until("creation", lambda: text() == "hello a")
    until("status", lambda: custom.get_namespaced_custom_object(*GROUP, "g").get("status", {}).get("greet"))
    assert custom.get_namespaced_custom_object(*GROUP, "g")["metadata"]["finalizers"]
    custom.patch_namespaced_custom_object(*GROUP, "g", {"spec": {"whom": "b"}})
    until("update", lambda: text() == "hello b")
    custom.delete_namespaced_custom_object(*GROUP, "g")

    def gone():
        try:
            custom.get_namespaced_custom_object(*GROUP, "g")
            return False
        except ApiException as error:
            return error.status == 404

    until("deletion", gone)
    try:
        core.read_namespaced_config_map("g", NAMESPACE)
        raise SystemExit("kopf: the ConfigMap outlived its Greeting")
    except ApiException as error:
        assert error.status == 404, error


def main():
    config.load_kube_config(sys.argv[1])
    core, extensions = client.CoreV1Api(), client.ApiextensionsV1Api()
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    extensions.create_custom_resource_definition({
        "metadata": {"name": "greetings.kopf.example.com"},
        "spec": {"group": "kopf.example.com", "scope": "Namespaced",
                 "names": {"plural": "greetings", "singular": "greeting", "kind": "Greeting"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    until("establishment", lambda: any(
        condition.type == "Established" and condition.status == "True" for condition in
        extensions.read_custom_resource_definition("greetings.kopf.example.com").status.conditions or []))
    ready, stop = threading.Event(), threading.Event()
    operator = threading.Thread(target=lambda: asyncio.run(kopf.operator(
        namespaces=[NAMESPACE], ready_flag=ready, stop_flag=stop, standalone=True)))
    operator.start()
    try:
        assert ready.wait(30), "kopf does not get ready"
        play()
    finally:
        stop.set()
        operator.join(30)
    extensions.delete_custom_resource_definition("greetings.kopf.example.com")
    core.delete_namespace(NAMESPACE)
    print("kopf: ok")


if __name__ == "__main__":
    main()
