{{/* What the operator may do to the clusters that it serves, and to their children. One list for
     the ClusterRole and for the Roles of namespaced mode. The rights cannot be narrowed to names:
     the children are named after their clusters. */}}
{{- define "partisan-operator.rules" -}}
- apiGroups: [partisan.dev]
  resources: [partisanclusters]
  verbs: [get, list, watch, patch]
- apiGroups: [partisan.dev]
  resources: [partisanclusters/status]
  verbs: [get, patch]
# Children with blockOwnerDeletion, where OwnerReferencesPermissionEnforcement is on.
- apiGroups: [partisan.dev]
  resources: [partisanclusters/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services, configmaps, secrets]
  verbs: [get, list, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [get, list, create, patch, delete]
# Pods are read to tell why one does not start, and deleted to roll it to a new template.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, delete]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list]
- apiGroups: ["", events.k8s.io]
  resources: [events]
  verbs: [list, create, patch]
{{- end }}
