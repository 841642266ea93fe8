"""The child objects of a cluster: one pure builder for each, from the spec to a manifest.

To change what the Services look like, open `service.py`; nothing else knows.
"""

from partisan_operator.children.child import Child
from partisan_operator.children.desired import DesiredChildren, desired_children

__all__ = ["Child", "DesiredChildren", "desired_children"]
