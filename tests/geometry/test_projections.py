"""Projections of a covering ball or box cover, for numbers of any size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from covey.errors import InvalidArgumentError
from covey.geometry.projections import Directions, false_cover_probability

KINDS = [Directions.orthonormal, Directions.random_signs, Directions.sparse]
directions = st.builds(
    lambda make, k, d, seed: make(k, d, seed),
    st.sampled_from(KINDS),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 1000),
)
plain = st.floats(-4, 4)
nasty = st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1 / 3, 1e8, 1e16, -1e16, 1e150, 1.7e308])
numbers = plain | nasty | nasty.map(lambda x: -x) | st.floats(allow_nan=False, allow_infinity=False)
sides = numbers | st.sampled_from([-math.inf, math.inf])


def _points(d: int) -> st.SearchStrategy[list[float]]:
    """Return a strategy for points with d coordinates."""
    return st.lists(numbers, min_size=d, max_size=d)


def _inside(outer: tuple[np.ndarray, ...], inner: tuple[np.ndarray, ...]) -> bool:
    """Return True if all inner intervals lie within the outer ones."""
    return bool((outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all())


@given(st.data(), directions)
def test_the_interval_of_a_ball_covers_those_of_balls_that_it_covers(
    data: st.DataObject, projection: Directions
) -> None:
    """The radius is the smallest float64 that covers: computed as a fraction and rounded up."""
    outer, inner = (
        data.draw(_points(projection.dimensions)),
        data.draw(_points(projection.dimensions)),
    )
    small = abs(data.draw(numbers))
    large = _covering_radius(outer, inner, small)
    assume(math.isfinite(large))
    widened = projection.project_outer_balls([outer], [large])
    assert _inside(widened, projection.project_balls([inner], [small]))
    assert _inside(
        projection.project_outer_balls([outer], [large], widenings=2),
        projection.project_outer_balls([inner], [small]),
    )


def _covering_radius(outer: list[float], inner: list[float], small: float) -> float:
    """Return the smallest radius with which the outer ball covers one of radius `small`."""
    squares = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(outer, inner, strict=True))
    scale = 1 << 2300
    distance = Fraction(math.isqrt(math.ceil(squares * scale * scale)) + (squares > 0), scale)
    exact = distance + Fraction(small)
    try:
        radius = float(exact)
    except OverflowError:
        return math.inf
    return radius if Fraction(radius) >= exact else math.nextafter(radius, math.inf)


@pytest.mark.parametrize("make", KINDS)
def test_a_ball_that_touches_along_a_direction_is_within(make: Callable[..., Directions]) -> None:
    """Rounding alone decides these cases, and decides some wrongly without the widening."""
    random, missed, missed_widened = np.random.default_rng(0), 0, 0
    for seed in range(200):
        projection = make(1, 3, seed)
        along = projection.matrix[0] / np.linalg.norm(projection.matrix[0])
        outer, small = random.standard_normal(3) * 10.0 ** random.integers(0, 4), random.random()
        inner = outer + random.choice([-1, 1]) * random.random() * along
        large = _covering_radius(outer.tolist(), inner.tolist(), small)
        balls, widened = (
            projection.project_balls([inner], [small]),
            projection.project_outer_balls([inner], [small]),
        )
        assert _inside(projection.project_outer_balls([outer], [large]), balls)
        assert _inside(projection.project_outer_balls([outer], [large], widenings=2), widened)
        missed += not _inside(projection.project_balls([outer], [large]), balls)
        missed_widened += not _inside(projection.project_outer_balls([outer], [large]), widened)
    assert missed > 5
    assert missed_widened > 5


def test_products_that_underflow_miss_nothing() -> None:
    """Each of three products is rounded up to the smallest float64."""
    projection, least = Directions(np.full((1, 3), 3**-0.5)), 5e-324
    inner = projection.project_balls([[least] * 3], [0.0])
    assert not _inside(projection.project_balls([[0.0] * 3], [2 * least]), inner)
    assert _inside(projection.project_outer_balls([[0.0] * 3], [2 * least]), inner)


def test_balls_near_overflow_are_unbounded() -> None:
    low, high = Directions(np.ones((1, 2))).project_outer_balls(
        [[1e305, -1e305], [1e3, 0.0]], [1.0, 1.0]
    )
    assert low[0, 0] == -math.inf
    assert high[0, 0] == math.inf
    assert np.isfinite([low[1], high[1]]).all()


@given(st.data(), directions)
def test_the_interval_of_a_box_covers_those_of_boxes_that_it_covers(
    data: st.DataObject, projection: Directions
) -> None:
    four = [sorted(data.draw(st.tuples(*[sides] * 4))) for _ in range(projection.dimensions)]
    lower, low, high, upper = (np.array(corner)[None] for corner in zip(*four, strict=True))
    assert _inside(projection.project_boxes(lower, upper), projection.project_boxes(low, high))


@given(st.data(), directions)
def test_a_box_projects_to_the_smallest_interval_of_its_vertices(
    data: st.DataObject, projection: Directions
) -> None:
    ends = [sorted(data.draw(st.tuples(plain, plain))) for _ in range(projection.dimensions)]
    vertices = np.array(list(itertools.product(*ends))) @ projection.matrix.T
    low, high = projection.project_boxes(
        *(np.array(side)[None] for side in zip(*ends, strict=True))
    )
    np.testing.assert_allclose(low[0], vertices.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(high[0], vertices.max(axis=0), atol=1e-12)


@given(st.data(), directions)
def test_widening_is_at_most_the_rounding_error(
    data: st.DataObject, projection: Directions
) -> None:
    centre = data.draw(
        st.lists(plain, min_size=projection.dimensions, max_size=projection.dimensions)
    )
    low, high = projection.project_outer_balls([centre], [1.0])
    norms = np.linalg.norm(projection.matrix, axis=1)
    np.testing.assert_allclose((high - low)[0], 2 * norms, rtol=1e-12)


def test_an_unbounded_side_is_unbounded_only_where_a_direction_has_an_entry() -> None:
    projection = Directions(np.array([[1.0, 0.0], [-1.0, 2.0], [0.0, 3.0]]))
    low, high = projection.project_boxes([[-math.inf, 1.0]], [[5.0, 2.0]])
    assert low.tolist() == [[-math.inf, -3.0, 3.0]]
    assert high.tolist() == [[5.0, math.inf, 6.0]]


@pytest.mark.parametrize(("k", "d"), [(3, 3), (2, 5), (7, 3)])
def test_orthonormal_directions_are_orthonormal_in_blocks_of_d(k: int, d: int) -> None:
    matrix = Directions.orthonormal(k, d, 0).matrix
    assert matrix.shape == (k, d)
    for start in range(0, k, d):
        block = matrix[start : start + d]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-12)


def test_random_entries_have_the_distributions_of_achlioptas() -> None:
    signs = Directions.random_signs(200, 50, 0).matrix
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.05
    sparse = Directions.sparse(200, 50, 0).matrix
    root = math.sqrt(3)
    assert set(np.unique(sparse)) == {-root, 0.0, root}
    shares = [np.mean(sparse == value) for value in (-root, 0.0, root)]
    np.testing.assert_allclose(shares, [1 / 6, 2 / 3, 1 / 6], atol=0.02)


def test_no_sparse_direction_is_zero() -> None:
    """In one dimension, two of three random draws are zero."""
    assert Directions.sparse(50, 1, 0).matrix.all()


@pytest.mark.parametrize("make", KINDS)
def test_the_same_seed_gives_the_same_directions(make: Callable[..., Directions]) -> None:
    first, again, other = make(3, 4, 5), make(3, 4, 5), make(3, 4, 6)
    assert (first.matrix == again.matrix).all()
    assert (first.matrix != other.matrix).any()
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        make(0, 4, 5)


def test_false_cover_probability_of_known_arguments() -> None:
    assert false_cover_probability(0) == 1.0
    assert false_cover_probability(2) == pytest.approx(0.40528473)
