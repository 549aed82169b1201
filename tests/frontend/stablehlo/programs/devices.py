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
