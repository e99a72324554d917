"""Another writer adds a node while the size has no stock, and the pool recovers.

Start a world with `npx aks-autoscaler emulate --dir DIR`, then `. DIR/env && python3 control_surface.py`. It needs no package.
"""

import json
import os
import ssl
import time
import urllib.request

AZURE = os.environ["AZURE_RESOURCE_MANAGER_ENDPOINT"]
TRUST = ssl.create_default_context(cafile=os.environ["AZURE_CA_FILE"])


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(AZURE + path, data=data, method=method)
    with urllib.request.urlopen(request, context=TRUST) as reply:
        text = reply.read()
    return json.loads(text) if text else None


def scale_set(pool):
    return next(entry for entry in call("GET", "/_emu/state")["sets"] if entry["pool"] == pool)


def until(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.2)


call("PUT", "/_emu/stock/Standard_E8s_v5/1", {"count": 0})
before = scale_set("memory")["capacity"]
call("POST", "/_emu/events", {"foreignScale": {"pool": "memory", "to": before + 1}})
until(lambda: any(vm["provisioningState"] == "Failed" for vm in scale_set("memory")["instances"]), "an instance without stock")
call("PUT", "/_emu/stock/Standard_E8s_v5/1", {"count": 10})
call("POST", "/_emu/events", {"foreignScale": {"pool": "memory", "to": before + 4}})
until(lambda: sum(vm["power"] == "running" for vm in scale_set("memory")["instances"]) >= before + 3, "three running instances")
print([entry["route"] for entry in call("GET", "/_emu/journal")["entries"] if entry["method"] == "EVENT"])
