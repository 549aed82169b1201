//===- AnnotationEdits.cpp - small changes of annotations -----------------===//

#include "tools/spmdc/AnnotationEdits.h"

#include <algorithm>
#include <set>

namespace spmdc {

DimEdit rewriteDim(const Annotation &annotation, size_t dim, const std::vector<std::string> &axes, bool isOpen) {
  const AnnotatedDim &old = annotation.dims[dim];
  std::string text = writeDim(axes, isOpen, old.priority, annotation.isPartition);
  std::string size(old.whole.text().substr(0, old.suffix.begin - old.whole.begin));
  return {old.suffix, old.whole.str(), std::string(old.whole.text()), size + text, text};
}

namespace {

bool contains(const std::vector<std::string> &axes, const std::string &axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<std::string> without(std::vector<std::string> axes, const std::string &axis) {
  std::erase(axes, axis);
  return axes;
}

std::vector<std::string> with(std::vector<std::string> axes, const std::string &axis) {
  axes.push_back(axis);
  return axes;
}

class EditLister {
public:
  EditLister(const spmd::MeshShape &mesh, std::vector<std::string> axes) : mesh(mesh), axes(std::move(axes)) {}

  /// Everything that may help, on a type that takes part.
  void change(const Annotation &annotation) {
    for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
      for (const std::string &axis : axes)
        if (contains(annotation.dims[dim].axes, axis))
          changeDim(annotation, dim, axis);
    for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
      if (annotation.dims[dim].axes.empty() && !annotation.dims[dim].isOpen)
        keep({rewriteDim(annotation, dim, {}, /*isOpen=*/true)});
    add(annotation);
  }

  /// An axis more on each dimension.
  void add(const Annotation &annotation) {
    for (const std::string &axis : axes)
      if (!uses(annotation, axis))
        for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
          keep({rewriteDim(annotation, dim, with(annotation.dims[dim].axes, axis), /*isOpen=*/false)});
  }

  std::vector<AnnotationEdit> edits;

private:
  static bool uses(const Annotation &annotation, const std::string &axis) {
    return std::any_of(annotation.dims.begin(), annotation.dims.end(),
                       [&](const AnnotatedDim &dim) { return contains(dim.axes, axis); });
  }

  void changeDim(const Annotation &annotation, size_t dim, const std::string &axis) {
    std::vector<std::string> rest = without(annotation.dims[dim].axes, axis);
    keep({rewriteDim(annotation, dim, rest, /*isOpen=*/false)});
    keep({rewriteDim(annotation, dim, rest, /*isOpen=*/true)});
    for (size_t other = 0; other < annotation.dims.size(); ++other)
      if (other != dim)
        keep({rewriteDim(annotation, dim, rest, /*isOpen=*/false),
              rewriteDim(annotation, other, with(annotation.dims[other].axes, axis), /*isOpen=*/false)});
    for (const spmd::MeshAxis &free : mesh.axes) {
      if (uses(annotation, free.name))
        continue;
      std::vector<std::string> replaced = annotation.dims[dim].axes;
      std::replace(replaced.begin(), replaced.end(), axis, free.name);
      keep({rewriteDim(annotation, dim, replaced, annotation.dims[dim].isOpen)});
    }
  }

  void keep(AnnotationEdit edit) {
    std::string key;
    for (const DimEdit &dim : edit) {
      if (dim.from == dim.to)
        return;
      key += std::to_string(dim.suffix.begin) + dim.to + ";";
    }
    if (known.insert(key).second)
      edits.push_back(std::move(edit));
  }

  const spmd::MeshShape &mesh;
  std::vector<std::string> axes;
  std::set<std::string> known;
};

} // namespace

std::vector<AnnotationEdit> listEdits(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                      const std::vector<std::string> &axes, const std::vector<Cause> &causes) {
  EditLister lister(mesh, axes);
  for (const Cause &cause : causes)
    for (const Annotation &annotation : annotations)
      if (annotation.range.str() == cause.mark)
        lister.change(annotation);
  for (bool isSignature : {true, false})
    for (const Annotation &annotation : annotations)
      if (annotation.isSignature == isSignature)
        lister.add(annotation);
  return std::move(lister.edits);
}

AnnotationEdit editWithout(const std::vector<Annotation> &annotations, const TakenAxes &taken) {
  AnnotationEdit edit;
  for (const auto &[where, axes] : taken) {
    const Annotation &annotation = annotations[where.first];
    std::vector<std::string> rest = annotation.dims[where.second].axes;
    std::erase_if(rest, [&](const std::string &axis) { return axes.count(axis) > 0; });
    edit.push_back(rewriteDim(annotation, where.second, rest, /*isOpen=*/true));
  }
  return edit;
}

std::string applyEdit(std::string_view text, const AnnotationEdit &edit) {
  std::vector<const DimEdit *> fromTheEnd;
  for (const DimEdit &dim : edit)
    fromTheEnd.push_back(&dim);
  std::sort(fromTheEnd.begin(), fromTheEnd.end(),
            [](const DimEdit *a, const DimEdit *b) { return a->suffix.begin > b->suffix.begin; });
  std::string result(text);
  for (const DimEdit *dim : fromTheEnd)
    result.replace(dim->suffix.begin, dim->suffix.end - dim->suffix.begin, dim->text);
  return result;
}

} // namespace spmdc
