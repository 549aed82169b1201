//===- Certificates.h - authorities and certificates for tests --*- C++ -*-===//
//
// Created by the openssl command, so that the tests do not depend on this project's own code.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/support/tls/Tls.h"
#include "tests/support/TemporaryFolder.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

namespace spmd::test {

class TestAuthority {
public:
  explicit TestAuthority(const std::string &name = "ca") : name(name) {
    run("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj '/CN=" + name + "' -keyout " +
        path(name + ".key") + " -out " + path(name + ".pem") + " -addext basicConstraints=critical,CA:TRUE");
  }

  struct Wish {
    std::string names = "DNS:localhost,IP:127.0.0.1"; ///< Empty: no names.
    std::string keyUsage = "";                        ///< extendedKeyUsage
    bool isExpired = false, isEarly = false;
  };

  TlsFiles make(const std::string &who) { return make(who, Wish()); }
  TlsFiles make(const std::string &who, const Wish &wish) {
    run("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=" + who + "' -keyout " + path(who + ".key") +
        " -out " + path(who + ".csr") + (wish.names.empty() ? "" : " -addext subjectAltName=" + wish.names) +
        (wish.keyUsage.empty() ? "" : " -addext extendedKeyUsage=" + wish.keyUsage));
    std::ofstream(path("index.txt"));
    std::ofstream(path("ca.cnf")) << "[ca]\ndefault_ca=d\n[d]\ndatabase=" << path("index.txt")
                                  << "\nrand_serial=yes\nnew_certs_dir=" << path("")
                                  << "\npolicy=p\ndefault_md=sha256\n"
                                  << "copy_extensions=copyall\nunique_subject=no\n[p]\ncommonName=supplied\n";
    std::string dates = wish.isExpired ? " -startdate 20200101000000Z -enddate 20210101000000Z"
                        : wish.isEarly ? " -startdate 20900101000000Z -enddate 20910101000000Z"
                                       : " -days 30";
    run("ca -batch -notext -config " + path("ca.cnf") + " -cert " + path(name + ".pem") + " -keyfile " +
        path(name + ".key") + " -in " + path(who + ".csr") + " -out " + path(who + ".pem") + dates);
    return {path(who + ".pem"), path(who + ".key"), path(name + ".pem")};
  }

  std::string path(const std::string &file) const { return folder / file; }

private:
  void run(const std::string &command) const {
    if (std::system(("openssl " + command + " >" + path("log") + " 2>&1").c_str()) != 0) {
      std::ifstream log(path("log"));
      throw std::runtime_error("openssl " + command + ": " +
                               std::string(std::istreambuf_iterator<char>(log), std::istreambuf_iterator<char>()));
    }
  }

  TemporaryFolder folder;
  const std::string name;
};

} // namespace spmd::test
