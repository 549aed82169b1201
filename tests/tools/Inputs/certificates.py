"""Certificates for tests, made by the openssl command: `certificates.py FOLDER` makes an authority (ca), a process's
certificate (good), one of the past (expired), and one of another authority (strangers, stranger)."""

import os
import subprocess
import sys

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder, self.name = folder, name
        os.makedirs(folder, exist_ok=True)
        self.run("req", "-x509", *KEY, "-days", "30", "-subj", "/CN=" + name, "-keyout", self.path(name + ".key"), "-out",
                 self.path(name + ".pem"), "-addext", "basicConstraints=critical,CA:TRUE")

    def path(self, file):
        return os.path.join(self.folder, file)

    def run(self, *command):
        done = subprocess.run(["openssl", *command], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)

    def make(self, who, names, days=30):
        """The variables with which a process has this certificate."""
        self.run("req", *KEY, "-subj", "/CN=" + who, "-addext", "subjectAltName=" + names, "-keyout", self.path(who + ".key"),
                 "-out", self.path(who + ".csr"))
        self.run("x509", "-req", "-in", self.path(who + ".csr"), "-CA", self.path(self.name + ".pem"), "-CAkey",
                 self.path(self.name + ".key"), "-CAcreateserial", "-copy_extensions", "copy", "-days", str(days), "-out",
                 self.path(who + ".pem"))
        return {"SPMD_TLS_CERT": self.path(who + ".pem"), "SPMD_TLS_KEY": self.path(who + ".key"),
                "SPMD_TLS_CA": self.path(self.name + ".pem")}


if __name__ == "__main__":
    authority = Authority(sys.argv[1])
    authority.make("good", "DNS:localhost")
    authority.make("expired", "DNS:localhost", days=-1)
    Authority(sys.argv[1], "strangers").make("stranger", "DNS:localhost")
