"""Checks a page of `inspect --html`: well-formed, self-contained, the source in it letter by letter, every link leads somewhere.

    check_html.py PAGE.html PROGRAM.spmd [OPERATION=LINE ...]

OPERATION=LINE: in every stage that has the operation, it is linked to that line of the source.
"""

import html.parser
import sys

page, program, *expected = sys.argv[1:]
VOID = {"meta", "br", "link", "img", "input"}


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.tags, self.ways, self.lines, self.text = [], set(), [], {}, [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        assert not {"src", "srcset", "data", "action", "style"} & set(attributes), (tag, attributes)
        assert tag not in ("link", "img", "iframe", "object", "base"), tag
        assert not any(name.startswith("on") for name in attributes), attributes
        if "id" in attributes:
            assert attributes["id"] not in self.ids
            self.ids.add(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        if tag not in VOID:
            self.open.append((tag, attributes))
        if tag == "span" and "l" in attributes.get("class", "").split():
            self.lines.append([attributes, "", ""])

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open[-1:], self.getpos())
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)
        if not self.lines:
            return
        classes = [attributes.get("class") for _, attributes in self.open]
        if "l" in classes:
            self.lines[-1][1 if "g" in classes else 2] += data


raw = open(page, "rb").read()
text = raw.decode("utf-8")
assert text.startswith("<!DOCTYPE html>\n"), text[:20]
reader = Reader()
reader.feed(text)
reader.close()
assert not reader.open, reader.open
assert {"html", "head", "title", "body", "style"} <= set(reader.tags) and reader.tags["script"] == 1, reader.tags
assert reader.links and all(link.startswith("#") and link[1:] in reader.ids for link in reader.links)
assert "url(" not in text.split("</style>")[0] and "@import" not in text.split("</style>")[0]

source = [line for line in reader.lines if "id" in line[0]]
lines = open(program, newline="").read().split("\n")
lines = lines[:-1] if lines[-1] == "" else lines
assert [line[2] for line in source] == lines, "the source is another"
assert [int(line[0]["data-l"]) for line in source] == list(range(1, len(lines) + 1))

stages = [line for line in reader.lines if "id" not in line[0]]
for item in expected:
    operation, number = item.split("=")
    found = [line for line in stages if f"{operation} " in line[2] and "plan.start" not in line[2]]
    assert found, operation
    assert all(line[0].get("data-l") == number for line in found), [(line[0], line[2]) for line in found]
print(f"{len(source)} lines, {len(stages)} lines of stages, {len(reader.links)} links")
