"""Makes schemas.json from the JobSet project's definition of its resource, which contains Kubernetes' own of a Job:

    make_schemas.py config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml > schemas.json

Descriptions go, and a field that is not known becomes an error. A Service, which is not in there, is written below with
the fields that a headless one may have (Kubernetes API v1, ServiceSpec).
"""

import json
import sys

import yaml

KEEP = ("type", "properties", "items", "required", "enum", "additionalProperties", "minItems", "maxLength", "minimum",
        "maximum", "pattern", "x-kubernetes-int-or-string")


def strict(schema):
    result = {key: schema[key] for key in KEEP if key in schema}
    if result.pop("x-kubernetes-int-or-string", False):
        return {"type": ["integer", "string"]}
    if "properties" in result:
        result["properties"] = {name: strict(value) for name, value in result["properties"].items()}
        result.setdefault("additionalProperties", False)
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), dict):
            result[key] = strict(result[key])
    return result


def resource(api, kind, spec):
    metadata = {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63},
        "namespace": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}}}}
    return {"type": "object", "required": ["apiVersion", "kind", "metadata", "spec"], "additionalProperties": False,
            "properties": {"apiVersion": {"enum": [api]}, "kind": {"enum": [kind]}, "metadata": metadata, "spec": spec}}


crd = yaml.safe_load(open(sys.argv[1]))
jobset = strict(crd["spec"]["versions"][-1]["schema"]["openAPIV3Schema"])["properties"]["spec"]
job = jobset["properties"]["replicatedJobs"]["items"]["properties"]["template"]["properties"]["spec"]
# The definition leaves a template's metadata open.
pod = job["properties"]["template"]["properties"]
pod["metadata"] = {"type": "object", "properties": {
    name: {"type": "object", "additionalProperties": {"type": "string"}} for name in ("labels", "annotations")},
    "additionalProperties": False}
service = {"type": "object", "additionalProperties": False, "required": ["clusterIP", "selector"], "properties": {
    "clusterIP": {"enum": ["None"]},
    "selector": {"type": "object", "additionalProperties": {"type": "string"}},
    "publishNotReadyAddresses": {"type": "boolean"},
    "ports": {"type": "array", "items": {"type": "object", "required": ["port"], "additionalProperties": False,
              "properties": {"name": {"type": "string"}, "protocol": {"enum": ["TCP", "UDP", "SCTP"]},
                             "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                             "targetPort": {"type": ["integer", "string"]}}}}}}
schemas = {"Job": resource("batch/v1", "Job", job),
           "JobSet": resource(crd["spec"]["group"] + "/" + crd["spec"]["versions"][-1]["name"], "JobSet", jobset),
           "Service": resource("v1", "Service", service)}

# Definitions that occur several times, such as a container, are written once.
counts = {}


def text_of(schema):
    return json.dumps(schema, sort_keys=True)


def parts_of(schema):
    yield from schema.get("properties", {}).items()
    yield from ((key, schema[key]) for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict))


def count(schema):
    text = text_of(schema)
    counts[text] = counts.get(text, 0) + 1
    if counts[text] == 1:
        for _, part in parts_of(schema):
            count(part)


definitions, names = {}, {}


def share(name, schema):
    text = text_of(schema)
    if text in names:
        return {"$ref": "#/definitions/" + names[text]}
    result = dict(schema)
    if "properties" in result:
        result["properties"] = {key: share(key, part) for key, part in result["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(result.get(key), dict):
            result[key] = share(name, result[key])
    if counts[text] < 2 or len(text) < 200:
        return result
    names[text] = name + str(len(names))
    definitions[names[text]] = result
    return {"$ref": "#/definitions/" + names[text]}


for schema in schemas.values():
    count(schema)
shared = {kind: share(kind, schema) for kind, schema in schemas.items()}
json.dump({"kinds": shared, "definitions": definitions}, sys.stdout, separators=(",", ":"), sort_keys=True)
print()
