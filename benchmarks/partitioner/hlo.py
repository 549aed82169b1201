"""The bytes that each device sends in a program compiled by XLA, from the text of its HLO.

Counted as `spmdc inspect` counts (the contract of `wire_bytes_per_device`): bandwidth-optimal algorithms, loops times
their iterations, for a conditional the branch that sends most. In XLA's favour: an all_reduce of which each device only
uses a slice counts as the reduce_scatter that XLA makes of it for accelerators, though not for CPUs.
"""

import math
import re

BITS = {"pred": 8, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "f16": 16, "bf16": 16, "s32": 32, "u32": 32,
        "f32": 32, "s64": 64, "u64": 64, "f64": 64, "token": 0}
# Operations that may be between an all_reduce and the slice of it that a device uses.
VIEWS = {"bitcast", "copy", "reshape", "transpose", "convert"}

COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) \(.*\) -> .* \{$")
# NAME = TYPE OPCODE(OPERANDS)REST; a tuple's type is in parentheses.
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)(.*)$")
COLLECTIVES = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "ragged-all-to-all",
               "collective-broadcast"}


def size(text):
    """Bytes of a type, of all elements of a tuple."""
    return sum(BITS[dtype] * math.prod(int(n) for n in dims.split(",") if n) / 8
               for dtype, dims in re.findall(r"(\w+)\[([\d,]*)\]", text))


def elements(text):
    return math.prod(int(n) for n in re.search(r"\[([\d,]*)\]", text).group(1).split(",") if n)


def group_size(attributes, devices):
    """Devices of one group; XLA writes groups as lists, as the shape of an iota, or as axes of a mesh."""
    if match := re.search(r"replica_groups=\[\d+,(\d+)\]<=", attributes):
        return int(match.group(1))
    if match := re.search(r"replica_groups=mesh\[(.*?)\].*? \{(.*?)\}", attributes):
        mesh = {name: int(number) for name, number in re.findall(r"'(\w+)'=(\d+)", match.group(1))}
        # A part of an axis is written as 'axis':(before)size.
        parts = re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", match.group(2))
        return math.prod(int(part) if part else mesh[name] for name, part in parts)
    if match := re.search(r"replica_groups=\{\{([\d,]*)\}", attributes):
        return match.group(1).count(",") + 1
    return devices


class Instruction:
    def __init__(self, match):
        self.name, self.type, self.opcode, operands, self.attributes = match.groups()
        self.operands = re.findall(r"%([\w.-]+)", operands)
        self.arguments = operands


class Module:
    def __init__(self, text):
        self.devices = int((re.search(r"num_partitions=(\d+)", text) or [0, "1"])[1])
        self.computations, self.entry, body = {}, None, None
        for line in text.splitlines():
            if match := COMPUTATION.match(line):
                body = self.computations.setdefault(match.group(2), {})
                self.entry = match.group(2) if match.group(1) else self.entry
            elif body is not None and (match := INSTRUCTION.match(line)):
                instruction = Instruction(match)
                body[instruction.name] = instruction

    def users(self, body, name):
        return [other for other in body.values() if name in other.operands]

    def largest_use(self, body, name):
        """The number of elements of the largest used slice of a value, or None if all of it is used."""
        largest = 0
        for user in self.users(body, name):
            if user.opcode == "dynamic-slice" and user.operands[0] == name:
                part = elements(user.type)
            elif user.opcode in VIEWS:
                part = self.largest_use(body, user.name)
            elif user.opcode == "fusion":
                inner = self.computations[re.search(r"calls=%([\w.-]+)", user.attributes).group(1)]
                part = 0
                for parameter in inner.values():
                    if parameter.opcode == "parameter" and user.operands[int(parameter.arguments)] == name:
                        used = self.largest_use(inner, parameter.name)
                        part = None if used is None or part is None else max(part, used)
            else:
                part = None
            if part is None:
                return None
            largest = max(largest, part)
        return largest or None

    def all_reduce(self, body, instruction, group):
        total, kept = size(instruction.type), None
        if not instruction.type.startswith("("):
            kept = self.largest_use(body, instruction.name)
        if kept is None:
            return 2 * (group - 1) / group * total
        pieces = min(group, max(1, elements(instruction.type) // kept))
        rest = group / pieces
        return (pieces - 1) / pieces * total + 2 * (rest - 1) / rest * total / pieces

    def collective(self, body, instruction):
        kind = instruction.opcode.removesuffix("-start")
        if kind not in COLLECTIVES:
            return 0
        operands = sum(size(body[name].type) for name in instruction.operands)
        group = group_size(instruction.attributes, self.devices)
        if kind == "all-reduce":
            return self.all_reduce(body, instruction, group)
        if kind == "all-gather":
            return (group - 1) * operands
        if kind == "collective-permute":
            listed = re.search(r"source_target_pairs=\{(.*?)\}\}", instruction.attributes).group(1)
            pairs = re.findall(r"(\d+),(\d+)", listed)
            return operands * sum(source != target for source, target in pairs) / self.devices
        return (group - 1) / group * operands

    def list_collectives(self, computation=None, times=1):
        """(opcode, type, bytes that a device sends, times) of all that the computation calls."""
        body, found = self.computations[computation or self.entry], []
        for instruction in body.values():
            called = dict(re.findall(r"(body|condition|calls|to_apply|true_computation|false_computation)=%([\w.-]+)",
                                     instruction.attributes))
            sent = self.collective(body, instruction)
            if instruction.opcode.removesuffix("-start") in COLLECTIVES:
                found.append((instruction.opcode, instruction.type, sent, times))
            elif instruction.opcode == "while":
                trips = re.search(r'"known_trip_count":\{"n":"(\d+)"', instruction.attributes)
                inner = times * (int(trips.group(1)) if trips else 1)
                found += self.list_collectives(called["body"], inner) + self.list_collectives(called["condition"], inner)
            elif instruction.opcode == "conditional":
                names = re.search(r"branch_computations=\{(.*?)\}", instruction.attributes)
                arms = re.findall(r"%([\w.-]+)", names.group(1)) if names else list(called.values())
                found += max((self.list_collectives(arm, times) for arm in arms), key=total)
            elif instruction.opcode in ("fusion", "call", "async-start"):
                found += self.list_collectives(called.get("calls", called.get("to_apply")), times)
        return found


def total(collectives):
    return sum(sent * times for _, _, sent, times in collectives)


def wire_bytes_per_device(text):
    return total(Module(text).list_collectives())
