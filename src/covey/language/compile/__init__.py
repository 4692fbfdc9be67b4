"""Compiler from conditions to regions: atoms, disjunctive normal form, and literals filled in.

A template is compiled once, from one predicate that has this template. The result is a list of
conjunctions of atoms whose literals are references to slots. When the literals of n predicates are
filled in, each conjunction becomes n regions. A literal that affects how its template is compiled
has a cache key; predicates with equal keys share the compiled template.

Modules in the order in which data passes through them:

- `cache_keys`: the properties of a literal that affect how its template is compiled.
- `operands`: the two sides of a condition, attribute and literal.
- `atoms`: conditions on one attribute, and their constraints once literals are filled in.
- `tag_conditions`: `array_contains` and `arrays_overlap` with literal tokens.
- `distance_conditions`: conditions on the distance to a literal vector, as balls.
- `conditions`: comparisons, lists and patterns as atoms; other conditions as derived booleans.
- `dnf`: `compile_template`, which converts AND, OR and NOT to a union of conjunctions.
- `region_builder`: `RegionBuilder`, which combines the constraints of many conjuncts into regions.
"""
