"""shard_map with every collective, and annotations of values."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as S

from cases import MESH, P, case, normal

x, w = normal(8, 16), normal(16, 12)


def mapped(f, in_specs, out_specs, **options):
    return jax.shard_map(f, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


case("annotations", lambda x, w: lax.with_sharding_constraint(jax.nn.relu(lax.with_sharding_constraint(x @ w, P("a", "b"))), P(None, "b")),
     x, w, in_shardings=(P("a", None), P(None, "b")), out_shardings=P("b", None))
case("partial_sums", lambda x, w: x @ w, x, w, in_shardings=(P("a", "b"), P("b", None)), out_shardings=P("a", None))
case("two_axes", lambda x: (x * 2).sum(0), x, in_shardings=(P(("a", "b"), None),), out_shardings=P("b"))
case("psum", mapped(lambda x: (lax.psum(x, "a"), lax.psum(x, "b"), lax.psum(x, ("a", "b"))), S("a", "b"), (S(None, "b"), S("a"), S())), x)
case("pmax_pmin", mapped(lambda x: (lax.pmax(x, "a"), lax.pmin(x, "b"), lax.pmean(x, "a")), S("a", "b"), (S(None, "b"), S("a"), S(None, "b"))), x)
case("all_gathers", mapped(lambda x: lax.all_gather(x, "b", axis=1, tiled=True) * (1 + lax.axis_index("b")), S("a", "b"), S("a", "b")), x)
case("reduce_scatters", mapped(lambda x: lax.psum_scatter(x, "b", scatter_dimension=1, tiled=True), S("a", None), S("a", "b")), x)
case("all_to_alls", mapped(lambda x: lax.all_to_all(x, "b", 1, 0, tiled=True), S("a", None), S(("a", "b"), None)), x)
case("permutes", mapped(lambda x: lax.ppermute(x, "a", [(i, (i + 1) % 4) for i in range(4)]) + lax.ppermute(x, "b", [(0, 1)]), S("a", "b"), S("a", "b")), x)
case("axis_indices", mapped(lambda x: x + lax.axis_index("a") * 10 + lax.axis_index("b"), S("a", "b"), S("a", "b")), x)
case("local_products", mapped(lambda x, w: lax.psum(x @ w, "b"), (S("a", "b"), S("b", None)), S("a", None)), x, w)
case("partly_manual", mapped(lambda x: lax.psum(jnp.sin(x) * 2, "a"), S("a"), S(), axis_names={"a"}), x, in_shardings=(P("a", "b"),))
case("pipeline", mapped(lambda x: lax.fori_loop(0, 4, lambda i, c: lax.ppermute(jnp.tanh(c), "a", [(k, (k + 1) % 4) for k in range(4)]), x),
                        S("a"), S("a")), x)

# Groups of devices that are no axes of the mesh: parts of an axis, in any order, of different sizes.
LINE = jax.sharding.Mesh(np.array(jax.devices()), ("n",))
HALVES, STRIDED, MIXED, UNEVEN = [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 2], [1, 3], [4, 6], [5, 7]], [[0, 3, 5, 6], [7, 4, 1, 2]], [[0, 1, 2], [3, 4, 5, 6, 7]]


def grouped(f, groups):
    return jax.shard_map(lambda x: [f(x, axis_name="n", axis_index_groups=each) for each in groups], mesh=LINE, in_specs=S("n"), out_specs=S("n"), check_vma=False)


y = normal(8, 16)
case("groups_psum", grouped(lax.psum, [HALVES, STRIDED, MIXED, UNEVEN]), y)
case("groups_pmax", grouped(lax.pmax, [HALVES, MIXED, UNEVEN]), y)
case("groups_pmean", grouped(lax.pmean, [HALVES, STRIDED, MIXED]), y)
case("groups_all_gather", grouped(lambda x, **o: lax.all_gather(x, axis=1, **o), [HALVES, STRIDED, MIXED]), y)
case("groups_all_gather_tiled", grouped(lambda x, **o: lax.all_gather(x, axis=1, tiled=True, **o), [HALVES, STRIDED, MIXED]), y)
case("groups_psum_scatter", grouped(lambda x, **o: lax.psum_scatter(x, scatter_dimension=1, tiled=True, **o), [HALVES, STRIDED, MIXED]), y)
case("groups_all_to_all", grouped(lambda x, **o: (lax.all_to_all(x, split_axis=1, concat_axis=0, tiled=True, **o), lax.all_to_all(x, split_axis=1, concat_axis=1, tiled=True, **o)),
                                  [HALVES, STRIDED, MIXED]), y)
case("groups_complex", grouped(lax.psum, [HALVES, MIXED, UNEVEN]), (y + 1j * y[::-1]).astype(np.complex64))
case("groups_of_several", jax.shard_map(lambda x, y: lax.psum((x, y, x[:, :3]), "a", axis_index_groups=[[0, 3], [1, 2]]), mesh=MESH, in_specs=(S("a", "b"), S("b")), out_specs=(S("a", "b"), S(("a", "b")), S("a", "b")),
                                         check_vma=False), y, normal(4, 3))
