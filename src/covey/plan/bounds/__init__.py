"""Lower bounds: bandwidth that no valid plan of a problem can go below.

Two bounds are computed, and the larger one is returned. The first considers points of event space:
the brokers that receive a point must be able to serve every subscriber that wants it. The second is
a Lagrangian bound: with prices on groups and rents on leaves, the value of a filter has a maximum,
which is found by enumeration. Both bounds hold for every valid plan, regardless of the planner.
Boxes are rounded inward for them, so that rounding never makes a bound too large.

Modules, in the order in which data passes through them:

- `bandwidth_bound`: `lower_bound`, the larger of the two.
- `cell_cover`: the first bound; a linear program for each cell says how many brokers must
  receive it.
- `lagrangian_price`: the second bound; cutting planes improve the prices and rents.
- `filter_value`: `FilterValueBound`, the largest value of a filter of a few rectangles.
"""
