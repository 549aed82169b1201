//===- AnnotationEdits.cpp - edits of annotations -------------------------===//

#include "compiler/explain/AnnotationEdits.h"

#include <algorithm>
#include <set>

namespace spmdc {

DimEdit rewriteDim(const Annotation &annotation, size_t dim, const std::vector<std::string> &axes, bool isOpen) {
  const AnnotatedDim &old = annotation.dims[dim];
  std::string text = writeDim(axes, isOpen, old.priority, annotation.isPartition);
  std::string size(old.whole.text().substr(0, old.suffix.begin - old.whole.begin));
  return {old.suffix, old.place, std::string(old.whole.text()), size + text, text};
}

namespace {

bool contains(const std::vector<std::string> &axes, const std::string &axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

std::vector<std::string> without(std::vector<std::string> axes, const std::string &axis) {
  std::erase(axes, axis);
  return axes;
}

std::vector<std::string> with(const std::vector<std::string> &axes, const std::string &axis) {
  return AxisAddition{{axis}}.on(axes);
}

class EditLister {
public:
  EditLister(const spmd::MeshShape &mesh, std::vector<std::string> axes) : mesh(mesh), axes(std::move(axes)) {}

  /// Lists all edits of an annotation that forces the collective.
  void change(const Annotation &annotation) {
    for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
      for (const std::string &axis : axes)
        if (contains(annotation.dims[dim].axes, axis))
          changeDim(annotation, dim, axis);
    for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
      if (annotation.dims[dim].axes.empty() && !annotation.dims[dim].isOpen)
        keep({rewriteDim(annotation, dim, {}, /*isOpen=*/true)});
    add(annotation, additionsOfOne(axes));
  }

  /// Lists edits that add axes to one dimension.
  void add(const Annotation &annotation, const std::vector<AxisAddition> &additions) {
    for (const AxisAddition &addition : additions)
      for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
        if (!usesAny(annotation, addition.axes) && addition.differsOn(annotation.dims[dim].axes))
          keep({rewriteDim(annotation, dim, addition.on(annotation.dims[dim].axes), /*isOpen=*/false)});
  }

  /// Lists edits that add one axis each to two dimensions.
  void spread(const Annotation &annotation) {
    for (const std::string &first : axes)
      for (const std::string &second : axes)
        for (size_t dim = 0; dim < annotation.dims.size(); ++dim)
          for (size_t other = dim + 1; other < annotation.dims.size(); ++other)
            if (first != second && !usesAny(annotation, {first, second}))
              keep({rewriteDim(annotation, dim, with(annotation.dims[dim].axes, first), /*isOpen=*/false),
                    rewriteDim(annotation, other, with(annotation.dims[other].axes, second), /*isOpen=*/false)});
  }

  /// All annotations: first those that force the collective, then those of the entry's signature, then the others.
  static std::vector<const Annotation *> inOrder(const std::vector<Annotation> &annotations,
                                                 const std::vector<ForcingAnnotation> &causes) {
    std::vector<const Annotation *> order;
    auto append = [&](auto holds) {
      for (const Annotation &annotation : annotations)
        if (holds(annotation) && std::find(order.begin(), order.end(), &annotation) == order.end())
          order.push_back(&annotation);
    };
    for (const ForcingAnnotation &cause : causes)
      append([&](const Annotation &annotation) { return annotation.place == cause.annotationPlace; });
    append([](const Annotation &annotation) { return annotation.isSignature; });
    append([](const Annotation &) { return true; });
    return order;
  }

  std::vector<AnnotationEdit> edits;

private:
  static bool uses(const Annotation &annotation, const std::string &axis) {
    return std::any_of(annotation.dims.begin(), annotation.dims.end(),
                       [&](const AnnotatedDim &dim) { return contains(dim.axes, axis); });
  }

  static bool usesAny(const Annotation &annotation, const std::vector<std::string> &some) {
    return std::any_of(some.begin(), some.end(), [&](const std::string &axis) { return uses(annotation, axis); });
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
      if (free.size == 1 || uses(annotation, free.name))
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
                                      const std::vector<std::string> &axes,
                                      const std::vector<ForcingAnnotation> &causes) {
  EditLister lister(mesh, axes);
  for (const ForcingAnnotation &cause : causes)
    for (const Annotation &annotation : annotations)
      if (annotation.place == cause.annotationPlace)
        lister.change(annotation);
  for (const Annotation *annotation : EditLister::inOrder(annotations, causes))
    lister.add(*annotation, additionsOfOne(axes));
  return std::move(lister.edits);
}

std::vector<AnnotationEdit> listWiderEdits(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                           const std::vector<std::string> &axes,
                                           const std::vector<ForcingAnnotation> &causes) {
  EditLister lister(mesh, axes);
  for (const Annotation *annotation : EditLister::inOrder(annotations, causes))
    lister.add(*annotation, additionsOfSeveral(axes));
  for (const Annotation *annotation : EditLister::inOrder(annotations, causes))
    lister.spread(*annotation);
  return std::move(lister.edits);
}

std::vector<AnnotationEdit> listAlignments(const std::vector<Annotation> &annotations, const spmd::MeshShape &mesh,
                                           const std::vector<std::string> &axes,
                                           const std::vector<ForcingAnnotation> &causes) {
  // More dimensions than that meet along several paths, each with causes of its own.
  constexpr size_t maxDims = 4;
  std::set<std::pair<const Annotation *, unsigned>> met;
  for (const ForcingAnnotation &cause : causes)
    for (const Annotation &annotation : annotations)
      if (annotation.place == cause.annotationPlace && cause.dim < annotation.dims.size())
        met.emplace(&annotation, cause.dim);
  std::vector<AnnotationEdit> edits;
  if (met.size() < 2 || met.size() > maxDims)
    return edits;
  std::vector<std::string> all;
  for (const spmd::MeshAxis &axis : mesh.axes)
    if (contains(axes, axis.name) || std::any_of(met.begin(), met.end(), [&](const auto &where) {
          return contains(where.first->dims[where.second].axes, axis.name);
        }))
      all.push_back(axis.name);
  for (const std::vector<std::string> &order : ordersOf(all)) {
    AnnotationEdit edit;
    for (const auto &[annotation, dim] : met)
      if (DimEdit aligned = rewriteDim(*annotation, dim, order, /*isOpen=*/false); aligned.from != aligned.to)
        edit.push_back(std::move(aligned));
    if (!edit.empty())
      edits.push_back(std::move(edit));
  }
  return edits;
}

AnnotationEdit editWithout(const std::vector<Annotation> &annotations, const RemovedAxes &taken) {
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
