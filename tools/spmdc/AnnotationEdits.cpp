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

std::vector<AnnotationEdit> listResultEdits(const Ast &ast, std::string_view entry,
                                            const std::vector<ValueReport> &results,
                                            const std::vector<std::string> &axes) {
  auto fn = std::find_if(ast.functions.begin(), ast.functions.end(),
                         [&](const FnDecl &decl) { return decl.name.text == entry; });
  // Leaves of structs have names of their own.
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].name != std::to_string(i))
      return {};
  if (fn == ast.functions.end() || fn->result || results.empty())
    return {};
  auto typeOf = [](const ValueReport &result, size_t changed, const std::vector<std::string> &cut) {
    std::string text;
    for (size_t dim = 0; dim < result.shape.size(); ++dim)
      text += (dim ? ", " : "") + std::to_string(result.shape[dim]) +
              (dim == changed ? writeDim(cut, /*isOpen=*/false, /*priority=*/-1, /*isPartition=*/false) : "");
    return std::string(spmd::dtypeName(result.dtype)) + (text.empty() ? "" : "[" + text + "]");
  };
  Range place{fn->body.range.source, fn->body.range.begin, fn->body.range.begin};
  std::vector<AnnotationEdit> edits;
  for (size_t i = 0; i < results.size(); ++i)
    for (size_t dim = 0; dim < results[i].shape.size(); ++dim)
      for (const std::string &axis : axes) {
        std::vector<std::string> cut;
        bool isUsed = false;
        for (const auto &list : results[i].sharding.dims)
          for (const spmd::AxisRef &used : list)
            isUsed |= used.name == axis;
        for (const spmd::AxisRef &used : results[i].sharding.dims[dim])
          cut.push_back(used.name);
        cut.push_back(axis);
        if (isUsed || results[i].shape[dim] <= 1)
          continue;
        std::string types;
        for (size_t other = 0; other < results.size(); ++other)
          types += (other ? ", " : "") + typeOf(results[other], other == i ? dim : results[other].shape.size(), cut);
        std::string text = results.size() == 1 ? "-> " + types : "-> (" + types + ")";
        edits.push_back({{place, place.str(), "", text, text + " "}});
      }
  return edits;
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
