"""The child objects of a cluster: one pure builder for each, from the spec to a manifest.

To change the Services, edit `service.py`; no other module knows their shape.
"""

from partisan_operator.children.child import Child
from partisan_operator.children.desired import DesiredChildren, desired_children

__all__ = ["Child", "DesiredChildren", "desired_children"]
