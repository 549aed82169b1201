//===- FindLibrary.cpp - NVIDIA's libraries, by name ----------------------===//

#include "runtime/device/cuda/FindLibrary.h"

#include <dlfcn.h>

namespace spmd::cuda {

std::string findLibrary(const std::vector<std::string> &names, const std::string &toolkit,
                        const std::vector<std::string> &subfolders,
                        const std::function<std::string(void *library)> &accept) {
  const std::string standard = "/usr/local/cuda";
  std::vector<std::string> roots = {standard}, folders = {""};
  if (!toolkit.empty() && toolkit != standard)
    roots.insert(roots.begin(), toolkit);
  for (const std::string &root : roots)
    for (const std::string &subfolder : subfolders)
      folders.push_back(root + "/" + subfolder + "/");
  std::string why;
  for (const std::string &folder : folders)
    for (const std::string &name : names) {
      // Never closed: threads and kernels of the library may still be there when the process ends.
      void *library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
      std::string problem = library ? accept(library) : dlerror();
      if (problem.empty())
        return "";
      why += (why.empty() ? "" : "; ") + (library ? folder + name + " " + problem : problem);
    }
  return why;
}

} // namespace spmd::cuda
