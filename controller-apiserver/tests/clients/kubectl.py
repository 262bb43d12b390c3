#!/usr/bin/env python3
"""Drives kubectl through its verbs against a running API server.

  kubectl.py --kubectl PATH --kubeconfig FILE [--namespace NAME]

Every step names what it expects; all steps run, the failed ones are listed at the end. Exit status 0
if none failed, 1 otherwise. Python standard library only.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.clients.example.com}
spec:
  group: clients.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
    schema:
      openAPIV3Schema:
        description: A gadget that clients play with.
        type: object
        required: [spec]
        properties:
          spec:
            description: What is wanted.
            type: object
            properties:
              size: {type: integer, minimum: 0, description: How large it is.}
              color: {type: string}
              replicas: {type: integer}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
"""

GADGET = """
apiVersion: clients.example.com/v1
kind: Gadget
metadata: {name: %s}
spec: {size: %d, color: %s}
"""

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: applied, labels: {app: demo}}
data: {k: %s}
"""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1", env: [{name: A, value: "1"}]}
"""


class Failed(Exception):
    """A step did not see what it expects."""


class Kubectl:
    def __init__(self, path, kubeconfig, namespace):
        self.base = [path, "--kubeconfig", kubeconfig, "--namespace", namespace, "--cache-dir",
                     tempfile.mkdtemp(prefix="kubectl-cache-")]
        version = self("version", "--client", "-o", "json")
        found = json.loads(version)["clientVersion"]
        self.minor = int(re.sub(r"\D.*", "", found["minor"]))

    def run(self, *args, stdin=None, env=None, timeout=60):
        return subprocess.run([*self.base, *args], input=stdin, capture_output=True, text=True, timeout=timeout,
                              env={**os.environ, "HOME": "/nonexistent", **(env or {})})

    def __call__(self, *args, stdin=None, env=None, fails=False):
        done = self.run(*args, stdin=stdin, env=env)
        if (done.returncode != 0) != fails:
            raise Failed(f"kubectl {' '.join(args)}: exit {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
        return done.stdout + (done.stderr if fails else "")

    def json(self, *args):
        return json.loads(self(*args, "-o", "json"))


def expect(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.M):
            raise Failed(f"expected {pattern!r} in:\n{text.rstrip()}")


def equal(actual, wanted):
    if actual != wanted:
        raise Failed(f"expected {wanted!r}, got {actual!r}")


STEPS = []


def step(function):
    STEPS.append(function)
    return function


@step
def version(k):
    expect(k("version"), r"Server Version")
    equal(json.loads(k("version", "-o", "json"))["serverVersion"]["major"], "1")


@step
def api_resources(k):
    text = k("api-resources")
    expect(text, r"^configmaps\s+cm\s+v1\s+true\s+ConfigMap", r"^deployments\s+deploy\s+apps/v1\s+true\s+Deployment",
           r"^nodes\s+no\s+v1\s+false\s+Node")
    expect(k("api-resources", "--api-group=apps", "-o", "name"), r"^statefulsets\.apps$")
    expect(k("api-versions"), r"^apps/v1$", r"^v1$")


@step
def cluster_info(k):
    expect(k("cluster-info"), r"control plane.* is running at")
    equal(k("get", "--raw", "/readyz").strip(), "ok")


@step
def explain(k):
    expect(k("explain", "pods"), r"KIND:\s+Pod", r"VERSION:\s+v1", r"spec")
    expect(k("explain", "deployment.spec.replicas"), r"replicas", r"integer")


@step
def create_crd(k):
    expect(k("create", "-f", "-", stdin=CRD), r"customresourcedefinition\S* created|gadgets\S* created")
    expect(k("wait", "--for=condition=Established", "crd/gadgets.clients.example.com", "--timeout=10s"),
           r"condition met")
    deadline = time.monotonic() + 10
    while k.run("get", "gadgets").returncode and time.monotonic() < deadline:
        time.sleep(0.1)
    expect(k("api-resources", "--api-group=clients.example.com"), r"^gadgets\s+gd\s+clients.example.com/v1\s+true\s+Gadget")
    expect(k("explain", "gadgets.spec.size"), r"How large it is")


@step
def create(k):
    expect(k("create", "configmap", "made", "--from-literal=a=1"), r"configmap/made created")
    expect(k("create", "configmap", "made", "--from-literal=a=1", fails=True), r"AlreadyExists|already exists")
    expect(k("create", "secret", "generic", "hidden", "--from-literal=p=w"), r"secret/hidden created")
    expect(k("create", "deployment", "made", "--image=nginx:1"), r"deployment.apps/made created")
    expect(k("create", "serviceaccount", "robot"), r"serviceaccount/robot created")
    expect(k("create", "role", "reader", "--verb=get,list", "--resource=configmaps"), r"role.\S*/reader created")
    expect(k("create", "rolebinding", "reader", "--role=reader", "--user=anna"), r"rolebinding.\S*/reader created")
    if k.minor >= 24:
        equal(k("create", "token", "robot").count("."), 2)
    expect(k("create", "-f", "-", stdin=GADGET % ("g1", 1, "red")), r"gadget.clients.example.com/g1 created")
    expect(k("create", "-f", "-", stdin=GADGET % ("bad", -1, "red"), fails=True), r"spec.size")
    unknown = GADGET.replace("color:", "colour:") % ("odd", 1, "red")
    expect(k("create", "-f", "-", stdin=unknown, fails=True), r"unknown field|colour")
    expect(k("create", "configmap", "dry", "--dry-run=server", "-o", "yaml"), r"name: dry", r"uid:")


@step
def get_table(k):
    expect(k("get", "configmap", "made"), r"^NAME\s+DATA\s+AGE\s*$", r"^made\s+1\s+\d+m?s")
    expect(k("get", "gadgets"), r"^NAME\s+SIZE\s*$|^NAME\s+SIZE\s+AGE\s*$", r"^g1\s+1")
    expect(k("get", "gd", "g1", "-o", "wide"), r"COLOR", r"red")
    expect(k("get", "deploy", "made"), r"^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE", r"^made\s+0/1")
    expect(k("get", "deploy", "made", "-o", "wide"), r"CONTAINERS\s+IMAGES\s+SELECTOR", r"nginx:1")
    expect(k("get", "all"), r"deployment.apps/made", r"gadget.clients.example.com/g1")
    expect(k("get", "cm", "--show-labels"), r"LABELS")
    expect(k("get", "secrets", "hidden"), r"^NAME\s+TYPE\s+DATA\s+AGE", r"hidden\s+Opaque\s+1")
    expect(k("get", "namespaces"), r"^default\s+Active")
    expect(k("get", "sa"), r"robot")
    expect(k("get", "crd"), r"^NAME\s+CREATED AT", r"gadgets.clients.example.com")
    expect(k("get", "clusterroles"), r"cluster-admin")
    expect(k("get", "rolebindings"), r"^NAME\s+ROLE\s+AGE", r"reader\s+Role/reader")
    expect(k("get", "nothing", fails=True), r"the server doesn't have a resource type")
    expect(k("get", "cm", "none", fails=True), r'configmaps "none" not found')


@step
def get_formats(k):
    equal(k.json("get", "configmap", "made")["data"], {"a": "1"})
    expect(k("get", "configmap", "made", "-o", "yaml"), r"^kind: ConfigMap", r"^  a: \"1\"")
    equal(k("get", "configmap", "made", "-o", "name").strip(), "configmap/made")
    equal(k("get", "gadget", "g1", "-o", "jsonpath={.spec.color}"), "red")
    expect(k("get", "gadgets", "-o", "custom-columns=N:.metadata.name,S:.spec.size"), r"^N\s+S", r"^g1\s+1")
    names = [item["metadata"]["name"] for item in k.json("get", "cm", "--sort-by=.metadata.name")["items"]]
    equal(names, sorted(names))
    equal(len(k.json("get", "cm", "-l", "app=none")["items"]), 0)
    equal([i["metadata"]["name"] for i in k.json("get", "cm", "--field-selector", "metadata.name=made")["items"]],
          ["made"])
    expect(k("get", "cm", "--chunk-size=1"), r"made")


@step
def get_watch(k):
    process = subprocess.Popen([*k.base, "get", "configmap", "-w", "-o", "name"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(iter(process.stdout.readline, "")), daemon=True)
    reader.start()
    try:
        deadline = time.monotonic() + 10
        while not any("made" in line for line in seen) and time.monotonic() < deadline:
            time.sleep(0.05)
        k("create", "configmap", "watched")
        while not any("watched" in line for line in seen) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    expect("".join(seen), r"configmap/made", r"configmap/watched")


@step
def describe(k):
    expect(k("describe", "configmap", "made"), r"^Name:\s+made", r"^Data")
    expect(k("describe", "gadget", "g1"), r"^Kind:\s+Gadget", r"Color:\s+red", r"^Events:\s+<none>")
    expect(k("describe", "deployment", "made"), r"^Selector:\s+app=made", r"Replicas:")
    expect(k("describe", "ns", "default"), r"^Status:\s+Active")
    expect(k("describe", "sa", "robot"), r"^Name:\s+robot")


@step
def apply(k):
    expect(k("apply", "-f", "-", stdin=CONFIG % "one"), r"configmap/applied created")
    expect(k("apply", "-f", "-", stdin=CONFIG % "one"), r"configmap/applied unchanged")
    expect(k("apply", "-f", "-", stdin=CONFIG % "two"), r"configmap/applied configured")
    equal(k.json("get", "cm", "applied")["data"], {"k": "two"})
    expect(k("apply", "-f", "-", stdin=GADGET % ("g2", 2, "blue")), r"gadget\S*/g2 created")
    expect(k("apply", "-f", "-", stdin=GADGET % ("g2", 3, "blue")), r"gadget\S*/g2 configured")
    equal(k.json("get", "gadget", "g2")["spec"]["size"], 3)
    expect(k("apply", "-f", "-", stdin=DEPLOYMENT), r"deployment.apps/web created")
    changed = DEPLOYMENT.replace('value: "1"', 'value: "2"').replace("replicas: 1", "replicas: 2")
    expect(k("apply", "-f", "-", stdin=changed), r"deployment.apps/web configured")
    container = k.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"][0]
    equal(container["env"], [{"name": "A", "value": "2"}])
    expect(k("apply", "view-last-applied", "cm/applied"), r"k: two")


@step
def apply_prune_of_fields(k):
    without = CONFIG.replace("data: {k: %s}", "data: {other: x}")
    expect(k("apply", "-f", "-", stdin=without), r"configured")
    equal(k.json("get", "cm", "applied")["data"], {"other": "x"})


@step
def apply_server_side(k):
    config = CONFIG.replace("name: applied", "name: ssa")
    args = ("apply", "--server-side", "-f", "-")
    expect(k(*args, stdin=config % "one"), r"configmap/ssa serverside-applied")
    expect(k(*args, stdin=config % "one"), r"configmap/ssa serverside-applied")
    expect(k(*args, "--field-manager=other", stdin=config % "two", fails=True), r"conflict", r"kubectl")
    expect(k(*args, "--field-manager=other", "--force-conflicts", stdin=config % "two"), r"serverside-applied")
    equal(k.json("get", "cm", "ssa")["data"], {"k": "two"})
    expect(k(*args, stdin=GADGET % ("g3", 3, "green")), r"gadget\S*/g3 serverside-applied")
    expect(k("get", "gadget", "g3", "-o", "yaml", "--show-managed-fields") if k.minor >= 21
           else k("get", "gadget", "g3", "-o", "yaml"), r"managedFields", r"f:color")


@step
def diff(k):
    expect(k("diff", "-f", "-", stdin=CONFIG.replace("data: {k: %s}", "data: {other: z}"), fails=True),
           r"^-\s+other: x", r"^\+\s+other: z")
    equal(k("diff", "-f", "-", stdin=CONFIG.replace("data: {k: %s}", "data: {other: x}")), "")
    config = CONFIG.replace("name: applied", "name: ssa")
    expect(k("diff", "--server-side", "--field-manager=other", "-f", "-", stdin=config % "three", fails=True),
           r"^\+\s+k: three")


@step
def label_and_annotate(k):
    expect(k("label", "cm", "made", "tier=back"), r"labeled")
    expect(k("label", "cm", "made", "tier=front", fails=True), r"overwrite")
    expect(k("label", "cm", "made", "tier=front", "--overwrite"), r"labeled")
    expect(k("get", "cm", "-l", "tier=front"), r"made")
    k("label", "cm", "made", "tier-")
    expect(k("annotate", "gadget", "g1", "note=hello world"), r"annotated")
    equal(k.json("get", "gadget", "g1")["metadata"]["annotations"]["note"], "hello world")
    expect(k("label", "cm", "made", "x=not valid", fails=True), r"[Ii]nvalid")


@step
def patch(k):
    expect(k("patch", "gadget", "g1", "--type=merge", "-p", '{"spec":{"size":7}}'), r"patched")
    expect(k("patch", "gadget", "g1", "--type=json", "-p", '[{"op":"replace","path":"/spec/color","value":"black"}]'),
           r"patched")
    equal(k.json("get", "gadget", "g1")["spec"], {"size": 7, "color": "black"})
    expect(k("patch", "deploy", "web", "--type=strategic", "-p",
             '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox:1"}]}}}}'), r"patched")
    names = [c["name"] for c in k.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"]]
    equal(sorted(names), ["main", "side"])
    if k.minor >= 24:
        expect(k("patch", "gadget", "g1", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":3}}'),
               r"patched")
    expect(k("patch", "gadget", "g1", "--type=merge", "-p", '{"spec":{"size":7}}'), r"no change")


@step
def edit(k):
    with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as script:
        script.write("#!/bin/sh\nsed -i 's/color: black/color: white/' \"$1\"\n")
    os.chmod(script.name, 0o755)
    expect(k("edit", "gadget", "g1", env={"KUBE_EDITOR": script.name}), r"edited")
    equal(k.json("get", "gadget", "g1")["spec"]["color"], "white")
    unchanged = k.run("edit", "gadget", "g1", env={"KUBE_EDITOR": "true"})
    expect(unchanged.stdout + unchanged.stderr, r"no changes|cancelled")
    os.unlink(script.name)


@step
def set_and_rollout(k):
    expect(k("set", "image", "deploy/web", "main=nginx:2"), r"image updated")
    expect(k("set", "env", "deploy/web", "B=2"), r"env updated")
    expect(k("rollout", "restart", "deploy/web"), r"restarted")


@step
def replace(k):
    live = k.json("get", "cm", "made")
    live["data"]["b"] = "2"
    expect(k("replace", "-f", "-", stdin=json.dumps(live)), r"replaced")
    expect(k("replace", "-f", "-", stdin=json.dumps(live), fails=True), r"modified")


@step
def scale(k):
    expect(k("scale", "deploy/web", "--replicas=4"), r"scaled")
    equal(k.json("get", "deploy", "web")["spec"]["replicas"], 4)
    expect(k("scale", "deploy/web", "--current-replicas=9", "--replicas=1", fails=True), r"[Ee]xpected replicas")
    k("patch", "gadget", "g1", "--type=merge", "-p", '{"spec":{"replicas":1}}')
    expect(k("scale", "gadget/g1", "--replicas=2"), r"scaled")
    equal(k.json("get", "gadget", "g1")["spec"]["replicas"], 2)


@step
def wait(k):
    expect(k("wait", "cm/made", "--for=delete", "--timeout=1s", fails=True), r"timed out")
    if k.minor >= 23:
        expect(k("wait", "gadget/g1", "--for=jsonpath={.spec.color}=white", "--timeout=5s"), r"condition met")
    timer = threading.Timer(0.5, lambda: k("delete", "cm", "watched"))
    timer.start()
    expect(k("wait", "cm/watched", "--for=delete", "--timeout=20s"), r"condition met|deleted|^$")
    timer.join()


@step
def delete_with_cascade_modes(k):
    for mode in ("background", "foreground", "orphan"):
        k("create", "configmap", f"owner-{mode}")
        owner = k.json("get", "cm", f"owner-{mode}")["metadata"]
        child = {"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": f"child-{mode}", "ownerReferences": [
                     {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"],
                      "blockOwnerDeletion": True}]}}
        k("create", "-f", "-", stdin=json.dumps(child))
        expect(k("delete", "cm", f"owner-{mode}", f"--cascade={mode}", "--timeout=20s"), r"deleted")
        deadline = time.monotonic() + 10
        gone = False
        while mode != "orphan" and not gone and time.monotonic() < deadline:
            gone = k.run("get", "cm", f"child-{mode}").returncode != 0
        equal(gone, mode != "orphan")
    equal(k.json("get", "cm", "child-orphan")["metadata"].get("ownerReferences"), None)


@step
def delete(k):
    expect(k("delete", "cm", "made"), r'configmap "made" deleted')
    expect(k("delete", "cm", "made", fails=True), r"not found")
    equal(k("delete", "cm", "made", "--ignore-not-found"), "")
    expect(k("delete", "-f", "-", stdin=GADGET % ("g2", 3, "blue")), r"deleted")
    expect(k("delete", "gadgets", "--all"), r'"g1" deleted', r'"g3" deleted')
    expect(k("delete", "deploy", "-l", "app=made"), r"deleted")
    expect(k("delete", "deploy", "web", "--now"), r"deleted")


@step
def auth_can_i(k):
    expect(k("auth", "can-i", "create", "pods"), r"^yes")
    expect(k("auth", "can-i", "get", "configmaps", "--as", "anna"), r"^yes")
    expect(k("auth", "can-i", "delete", "configmaps", "--as", "anna", fails=True), r"^no")
    expect(k("auth", "can-i", "--list", "--as", "anna"), r"configmaps\s+\[\]\s+\[\]\s+\[get list\]")
    if k.minor >= 27:
        expect(k("auth", "whoami"), r"Username\s+\S+")
        expect(k("auth", "whoami", "--as", "anna"), r"Username\s+anna", r"Groups\s+\[system:authenticated\]")


@step
def config_view(k):
    expect(k("config", "view"), r"^kind: Config", r"current-context: \S+")
    expect(k("config", "current-context"), r"\S")


@step
def events(k):
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "e-"}, "type": "Warning",
             "reason": "Played", "message": "by a script",
             "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "applied"},
             "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-01-01T00:00:00Z", "count": 1}
    k("create", "-f", "-", stdin=json.dumps({**event, "metadata": {
        **event["metadata"], "namespace": k.base[k.base.index("--namespace") + 1]}, "involvedObject": {
        **event["involvedObject"], "namespace": k.base[k.base.index("--namespace") + 1]}}))
    expect(k("get", "events"), r"LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE", r"Warning\s+Played\s+configmap/applied")


@step
def delete_crd(k):
    expect(k("delete", "crd", "gadgets.clients.example.com"), r"deleted")
    expect(k("get", "gadgets", fails=True), r"doesn't have a resource type|could not find|not find")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--namespace", default="clients")
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    kubectl = Kubectl(args.kubectl, args.kubeconfig, args.namespace)
    kubectl("create", "namespace", args.namespace)
    failed = []
    for function in STEPS:
        if args.only and function.__name__ not in args.only:
            continue
        try:
            function(kubectl)
            print(f"ok      {function.__name__}", flush=True)
        except (Failed, subprocess.TimeoutExpired, ValueError, KeyError, StopIteration) as problem:
            failed.append(function.__name__)
            print(f"FAILED  {function.__name__}: {type(problem).__name__}: {problem}", flush=True)
    try:
        kubectl("delete", "namespace", args.namespace, "--timeout=30s")
    except (Failed, subprocess.TimeoutExpired) as problem:
        failed.append("delete namespace")
        print(f"FAILED  delete namespace: {problem}")
    print(f"{len(STEPS) - len(failed)} of {len(STEPS)} steps with kubectl 1.{kubectl.minor}"
          + (f"; failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
